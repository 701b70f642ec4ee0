#pragma once
#include <optional>
#include <string>

namespace levin {

/// Requests that end a run before its limits.
class StopRequests {
 public:
  /// With several ranks the run stops only once all of them have agreed.
  explicit StopRequests(bool several_ranks) : several_ranks_(several_ranks) {}

  /// Asks to stop; the first reason is kept.
  void request(const std::string& reason) {
    if (!reason_) reason_ = reason;
  }
  /// Asks to end this process's session, but not the run: the reason is not saved in checkpoints.
  void request_end_of_session(const std::string& reason) {
    request(reason);
    session_ends_ = true;
  }
  /// Records that all ranks have agreed to stop.
  void agree() { agreed_ = true; }

  /// Returns the reason of this rank's request, which other ranks may not know yet; unset without a request.
  const std::optional<std::string>& reason() const { return reason_; }
  /// Returns whether the run is to stop, the same on all ranks.
  bool are_agreed() const { return several_ranks_ ? agreed_ : reason_.has_value(); }
  /// Returns whether the run itself is to end. A signal or a job's time limit ends only the session.
  bool end_the_run() const;

 private:
  bool several_ranks_;
  std::optional<std::string> reason_ = {};
  bool agreed_ = false;
  bool session_ends_ = false;
};

}  // namespace levin
