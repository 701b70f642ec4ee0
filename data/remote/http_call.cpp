#include <levin/data/remote/http_call.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/download/curl_handle.h>
#include <levin/data/remote/remote_options.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

namespace levin::data {
namespace {

constexpr size_t kMostAnswerBytes = size_t{1} << 24;
constexpr size_t kMostHeaders = 1000;

struct FreeCurlList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool is_passing_status(long status) { return status == 408 || status == 429 || (status >= 500 && status != 501); }

/// One call in progress.
class CurlCall {
 public:
  CurlCall(const HttpCall& call, CURL* handle) : call_(call), handle_(handle) {
    curl_easy_reset(handle);
    const auto timeout_s = static_cast<long>(std::ceil(remote_timeout_seconds()));
    set(CURLOPT_URL, call.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_USERAGENT, "levin");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, timeout_s);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, timeout_s);
    set(CURLOPT_FOLLOWLOCATION, call.is_web ? 1L : 0L);
    set(CURLOPT_NETRC, static_cast<long>(call.is_web ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_HEADERFUNCTION, &CurlCall::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &CurlCall::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_XFERINFOFUNCTION, &CurlCall::on_progress);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    if (call.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (call.method == "PUT" || call.method == "POST") {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
      set(CURLOPT_POSTFIELDS, call.body.data() != nullptr ? call.body.data() : "");
      set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    } else if (call.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
    }
    headers_.reset(curl_slist_append(nullptr, "Expect:"));
    add("Content-Type:");
    for (const std::string& header : call.headers) add(header);
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  HttpReply run() && {
    CURLcode code = CURLE_OK;
    {
      const BlockedPipeSignal blocked;
      code = curl_easy_perform(handle_);
    }
    curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, nullptr);
    if (failure_) std::rethrow_exception(failure_);
    if (code == CURLE_ABORTED_BY_CALLBACK) throw Error("a signal ended the transfer");
    if (is_too_long_) {
      reply_.error = "the server's answer is longer than 16 MB";
    } else if (code != CURLE_OK && !has_enough_) {
      reply_.error = error_[0] ? error_.data() : curl_easy_strerror(code);
      reply_.is_passing = kind_of(code) != CurlFailure::Final;
    } else {
      reply_.is_passing = is_passing_status(reply_.status);
    }
    return std::move(reply_);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_, option, value);
  }

  void add(const std::string& header) { headers_.reset(curl_slist_append(headers_.release(), header.c_str())); }

  static size_t on_header(char* text, size_t /*one*/, size_t length, void* self) {
    static_cast<CurlCall*>(self)->take_header({text, length});
    return length;
  }

  void take_header(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (line.starts_with("HTTP/")) {  // also for each redirection
      reply_ = {};
      curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &reply_.status);
      const size_t space = line.find(' ');
      reply_.reason = space == std::string_view::npos ? line : line.substr(space + 1);
    } else if (colon != std::string_view::npos && reply_.headers.size() < kMostHeaders) {
      std::string name(line.substr(0, colon));
      for (char& letter : name)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
      const size_t begin = std::min(line.find_first_not_of(' ', colon + 1), line.size());
      std::string& value = reply_.headers[std::move(name)];
      value += (value.empty() ? "" : ", ") + std::string(line.substr(begin));
    }
  }

  static size_t on_body(const char* data, size_t /*one*/, size_t bytes, void* self) {
    auto& call = *static_cast<CurlCall*>(self);
    try {
      return call.take_body({data, bytes}) ? bytes : 0;
    } catch (...) {
      call.failure_ = std::current_exception();
      return 0;
    }
  }

  bool take_body(std::string_view bytes) {
    const bool is_content = reply_.status == 200 || reply_.status == 206;
    if (call_.take && is_content) {
      has_enough_ = !call_.take(reply_, bytes);
      return !has_enough_;
    }
    is_too_long_ = reply_.body.size() + bytes.size() > kMostAnswerBytes;
    if (is_too_long_) return false;
    reply_.body += bytes;
    return true;
  }

  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<CurlCall*>(self)->call_.ends_on_signal && received_signal() != 0 ? 1 : 0;
  }

  const HttpCall& call_;
  CURL* const handle_;
  std::array<char, CURL_ERROR_SIZE> error_ = {};
  std::unique_ptr<curl_slist, FreeCurlList> headers_ = {};
  HttpReply reply_ = {};
  bool has_enough_ = false, is_too_long_ = false;
  std::exception_ptr failure_ = {};
};

}  // namespace

HttpReply call_http(const HttpCall& call) {
  // Its connections stay open between calls.
  thread_local const CurlHandle handle = open_curl();
  if (call.ends_on_signal && received_signal() != 0) throw Error("a signal ended the transfer");
  return CurlCall(call, handle.get()).run();
}

}  // namespace levin::data
