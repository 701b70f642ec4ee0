#pragma once
#include <levin/program/runs/http_answer.h>
#include <levin/program/runs/http_request.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

namespace levin::runs {

/// A thread that makes one answer at a time, so that who serves connections need not wait for the disk.
class AnswerThread {
 public:
  using Make = std::function<HttpAnswer(const HttpRequest&, const std::stop_token&)>;

  explicit AnswerThread(Make make);
  /// Ends as `end` does, without patience.
  ~AnswerThread();
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  /// A descriptor that can be read once the answer is made.
  int descriptor() const;
  bool is_busy() const { return is_busy_; }
  /// Has an answer made. The thread must not be busy.
  void start(HttpRequest request);
  /// Returns the answer if it is made. What `make` throws is an answer with the status 500.
  std::optional<HttpAnswer> take();

  /// Asks `make` to stop and ends the thread. Returns false if that takes longer than `patience`: then the thread goes
  /// on with copies of its own, and ends when `make` returns.
  bool end(std::chrono::milliseconds patience);

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_ = {};
  bool is_busy_ = false;
};

}  // namespace levin::runs
