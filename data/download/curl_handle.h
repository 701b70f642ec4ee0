#pragma once
#include <curl/curl.h>
#include <signal.h>

#include <memory>
#include <string>

namespace levin::data {

struct CloseCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CloseCurl>;

/// A new handle; libcurl is made ready by the first. Throws levin::Error where it cannot be.
CurlHandle open_curl();

/// While it lives, a write of this thread to a closed connection is an error of that write, not the end of the process.
class BlockedPipeSignal {
 public:
  BlockedPipeSignal();
  ~BlockedPipeSignal();
  BlockedPipeSignal(const BlockedPipeSignal&) = delete;
  BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;

 private:
  sigset_t pipe_ = {}, before_ = {};
};

/// The host of a URL; the URL itself where it has none.
std::string host_of(const std::string& url);

}  // namespace levin::data
