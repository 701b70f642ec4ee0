#include <levin/trainer/loggers/mlflow_server.h>
#include <levin/core/system/json_text.h>

#include <cstdlib>
#include <utility>

namespace levin {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Encodes each part of a path, but not the slashes.
std::string encoded_path(const std::string& path) {
  std::string encoded;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    encoded += (begin > 0 ? "/" : "") + url_encoded(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return encoded;
}

}  // namespace

MLflowServer::MLflowServer(const std::string& tracking_uri, double timeout_seconds, const std::atomic<bool>& stop)
    : uri_(tracking_uri), timeout_seconds_(timeout_seconds), stop_(stop) {
  while (uri_.ends_with('/')) uri_.pop_back();
}

HttpRequest MLflowServer::request(const std::string& method, const std::string& url) const {
  HttpRequest made{.method = method, .url = url, .timeout_seconds = timeout_seconds_, .stop = &stop_};
  if (const std::string token = variable("MLFLOW_TRACKING_TOKEN"); !token.empty())
    made.headers.push_back("Authorization: Bearer " + token);
  else if (const std::string user = variable("MLFLOW_TRACKING_USERNAME"); !user.empty())
    made.user = user + ":" + variable("MLFLOW_TRACKING_PASSWORD");
  return made;
}

MLflowServer::Answer MLflowServer::answer_of(const HttpRequest& request, bool is_json) {
  const HttpAnswer answer = send_http(request);
  Answer made{.reason = answer.reason()};
  if (answer.ok() && !is_json) {
    made.kind = Answer::Kind::Done;
    return made;
  }
  made.body = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  const bool is_mlflow = made.body.is_object();
  if (answer.ok() && is_mlflow) {
    made.kind = Answer::Kind::Done;
  } else if (answer.ok()) {
    made.reason = "the server answers what is no MLflow";
  } else if (is_mlflow && made.body.contains("error_code") && !answer.may_retry() && answer.status != 401 &&
             answer.status != 403) {
    const auto text = [&](const char* key) {
      const Json value = made.body.value(key, Json(""));
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    made.kind = Answer::Kind::Refused;
    made.code = text("error_code");
    made.reason = made.code + ": " + text("message").substr(0, 500);
  }
  return made;
}

MLflowServer::Answer MLflowServer::post(const std::string& call, const Json& body) const {
  HttpRequest made = request("POST", uri_ + "/api/2.0/mlflow/" + call);
  made.headers.push_back("Content-Type: application/json");
  made.body = json_text(body);
  return answer_of(made, /*is_json=*/true);
}

MLflowServer::Answer MLflowServer::get(const std::string& call, const std::string& query) const {
  return answer_of(request("GET", uri_ + "/api/2.0/mlflow/" + call + "?" + query), /*is_json=*/true);
}

MLflowServer::Answer MLflowServer::put_artifact(const std::string& root, const std::string& path,
                                                const std::string& bytes, const std::filesystem::path& file) const {
  constexpr std::string_view kScheme = "mlflow-artifacts:";
  if (!root.starts_with(kScheme))
    return {.kind = Answer::Kind::Refused,
            .code = "NOT_SERVED",
            .reason = "the server keeps artifacts at " + root +
                      ", where levin cannot write; start it with --serve-artifacts and --artifacts-destination"};
  std::string rest = root.substr(kScheme.size()), base = uri_;
  if (rest.starts_with("//")) {  // another host keeps the artifacts
    const size_t slash = std::min(rest.find('/', 2), rest.size());
    if (slash > 2) base = uri_.substr(0, uri_.find(':') + 1) + rest.substr(0, slash);
    rest = rest.substr(slash);
  }
  while (rest.starts_with('/')) rest.erase(0, 1);
  HttpRequest made = request("PUT", base + "/api/2.0/mlflow-artifacts/artifacts/" + encoded_path(rest + "/" + path));
  made.headers.push_back("Content-Type: application/octet-stream");
  made.body = bytes;
  made.file = file;
  return answer_of(made, /*is_json=*/false);
}

}  // namespace levin
