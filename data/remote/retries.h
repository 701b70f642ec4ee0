#pragma once
#include <levin/data/remote/http_call.h>

#include <cstdint>
#include <string>

namespace levin::data {

/// The repetitions of a call that failed for a passing reason.
class Retries {
 public:
  /// `name`: the URL for messages.
  Retries(std::string name, bool ends_on_signal);

  /// Waits until the call may be repeated: half a second, and twice as long each time, or as long as the server asks
  /// for (up to a minute). Throws levin::Error if it has been repeated often enough, and on a signal.
  void wait_after(const HttpReply& failed);
  /// Counts from the beginning, since something has come.
  void reset() { failures_ = 0; }

 private:
  std::string name_;
  bool ends_on_signal_;
  int64_t most_;  ///< remote_retries()
  int64_t failures_ = 0;
};

}  // namespace levin::data
