#pragma once
#include <levin/trainer/loggers/http.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace levin {

/// An MLflow tracking server, by its REST API.
/// Source: https://mlflow.org/docs/latest/rest-api.html
///
/// Credentials come from MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.
class MLflowServer {
 public:
  using Json = nlohmann::ordered_json;

  /// The answer to a request.
  struct Answer {
    enum class Kind {
      Done,     ///< `body` is the answer
      Refused,  ///< the server knows MLflow and does not accept this request, ever
      Away,     ///< no server, a broken one, one that is no MLflow, or credentials that are refused
    };
    Kind kind = Kind::Away;
    Json body = {};
    std::string code = {};    ///< MLflow's error_code, if refused
    std::string reason = {};  ///< unless done
    bool done() const { return kind == Kind::Done; }
    bool refused() const { return kind == Kind::Refused; }
  };

  /// `stop`: becomes true to end a request early; it must outlive the server.
  MLflowServer(const std::string& tracking_uri, double timeout_seconds, const std::atomic<bool>& stop);

  /// Calls "runs/create" and the like.
  Answer post(const std::string& call, const Json& body) const;
  Answer get(const std::string& call, const std::string& query) const;
  /// Stores bytes, or a file if `file` is set, at a path below the folder of artifacts `root` (mlflow-artifacts:/...),
  /// through the server. Refused if the server does not keep the artifacts itself.
  Answer put_artifact(const std::string& root, const std::string& path, const std::string& bytes,
                      const std::filesystem::path& file) const;

 private:
  HttpRequest request(const std::string& method, const std::string& url) const;
  static Answer answer_of(const HttpRequest& request, bool is_json);

  std::string uri_;
  double timeout_seconds_;
  const std::atomic<bool>& stop_;
};

}  // namespace levin
