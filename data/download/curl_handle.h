#pragma once
#include <curl/curl.h>
#include <signal.h>

#include <memory>

namespace levin::data {

struct CloseCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CloseCurl>;

/// What a failure says of another try.
enum class CurlFailure {
  Final,        ///< it fails again
  Unreachable,  ///< the server was not reached
  BrokenOff,    ///< the connection ended too early
};
CurlFailure kind_of(CURLcode code);

/// Returns a new handle; the first call initialises libcurl. Throws levin::Error if that fails.
CurlHandle open_curl();

/// While this object lives, a write of this thread to a closed connection fails and does not end the process by
/// SIGPIPE.
class BlockedPipeSignal {
 public:
  BlockedPipeSignal();
  ~BlockedPipeSignal();
  BlockedPipeSignal(const BlockedPipeSignal&) = delete;
  BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;

 private:
  sigset_t pipe_ = {}, before_ = {};
};

}  // namespace levin::data
