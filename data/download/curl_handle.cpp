#include <levin/data/download/curl_handle.h>
#include <levin/core/system/error.h>
#include <levin/data/download/url_host.h>
#include <pthread.h>
#include <time.h>

namespace levin::data {

CurlFailure kind_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
      return CurlFailure::Unreachable;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return CurlFailure::BrokenOff;
    default:
      return CurlFailure::Final;
  }
}

CurlHandle open_curl() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  CurlHandle handle(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (!handle) throw Error("libcurl cannot be used: ", curl_easy_strerror(ready));
  return handle;
}

BlockedPipeSignal::BlockedPipeSignal() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

BlockedPipeSignal::~BlockedPipeSignal() {
  if (sigismember(&before_, SIGPIPE)) return;
  constexpr timespec kAtOnce = {};
  while (sigtimedwait(&pipe_, nullptr, &kAtOnce) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::string host_of(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  char* host = nullptr;
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_get(parsed.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) {
    return url;
  }
  const std::unique_ptr<char, void (*)(void*)> owned(host, curl_free);
  return owned.get();
}

}  // namespace levin::data
