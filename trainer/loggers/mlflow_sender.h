#pragma once
#include <levin/trainer/loggers/mlflow_queue.h>
#include <levin/trainer/loggers/mlflow_server.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>

namespace levin {

/// Sends a run's queue to its MLflow server. All functions but `queue`, `is_away` and `hurry` belong to one thread.
class MLflowSender {
 public:
  using Json = nlohmann::ordered_json;
  using Clock = std::chrono::steady_clock;

  /// `tracking_uri` may hold a password, which no file gets.
  MLflowSender(const std::filesystem::path& folder, std::string tracking_uri, double timeout_seconds,
               const std::atomic<bool>& stop, double patience_seconds);

  MLflowQueue& queue() { return queue_; }
  /// Sends what the queue has, unless it is too early: a second after the last time, or, if the server was away, 1 to
  /// 60 seconds. Prints a warning once if the server is away, and once if it refuses something.
  void send();
  /// Then sends what waits in the folders beside this one for the same server.
  void send_leftovers();
  /// Makes the next `send` do so at once.
  void hurry() { hurries_ = true; }
  /// Returns whether the last attempt failed.
  bool is_away() const { return is_away_; }

 private:
  bool send_all();
  bool make_run();
  bool find_experiment();
  bool create_run();
  bool find_created_run();
  size_t send_rows(const MLflowQueue::Part& part, size_t from);
  bool send_thing(const Json& thing);
  bool send_parameters(const Json& values);
  bool send_artifact(const Json& thing);
  /// Returns whether to go on: the server took it, or refused it for good.
  bool settled(const MLflowServer::Answer& answer, const std::string& what);
  bool away(const std::string& reason);
  std::string text_fact(const char* name) const;

  std::string tracking_uri_;
  double timeout_seconds_;
  const std::atomic<bool>& stop_;
  MLflowServer server_;
  MLflowQueue queue_;
  Clock::time_point next_ = {};
  double pause_seconds_ = 1;
  bool told_away_ = false, told_refused_ = false, looked_beside_ = false;
  std::atomic<bool> is_away_ = false, hurries_ = false;
};

/// Returns the URL without a user's name and password.
std::string without_password(const std::string& url);

}  // namespace levin
