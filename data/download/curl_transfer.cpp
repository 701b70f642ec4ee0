#include <levin/data/download/curl_transfer.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/download/curl_handle.h>
#include <levin/data/download/shown_url.h>
#include <strings.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string_view>

namespace levin::data {
namespace {

std::string megabytes(int64_t bytes) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.1f", static_cast<double>(bytes) / 1e6);
  return text.data();
}

/// Returns whether the server's status is temporary.
bool is_passing(long status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

class Transfer {
 public:
  Transfer(const std::string& url, PartFile& part, std::optional<int64_t> size, double timeout_seconds)
      : url_(url), part_(part), size_(size), start_(part.size()), handle_(open_curl()) {
    const auto timeout_ms = static_cast<long>(std::ceil(timeout_seconds * 1000));
    const auto timeout_s = static_cast<long>(std::ceil(timeout_seconds));
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_USERAGENT, "levin");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, timeout_s);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    if (start_ > 0) set(CURLOPT_RANGE, (std::to_string(start_) + "-").c_str());
  }

  TransferEnd run() {
    if (received_signal() != 0) throw_interrupted();
    CURLcode code = CURLE_OK;
    {
      const BlockedPipeSignal blocked;
      code = curl_easy_perform(handle_.get());
    }
    if (failure_) std::rethrow_exception(failure_);
    if (!reason_.empty()) return {.may_retry = may_retry_, .reason = reason_};
    if (code == CURLE_ABORTED_BY_CALLBACK) throw_interrupted();
    return code == CURLE_OK ? after_answer() : after_failure(code);
  }

 private:
  [[noreturn]] void throw_interrupted() const {
    throw Error(shown_url(url_), ": a signal ended the download; what has come is in ", part_.path().string());
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  /// 0 for protocols without status codes.
  long status() const {
    long status = 0;
    if (is_http_) curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  TransferEnd after_answer() {
    const long code = status();
    if (code == 0 || code == 206) return {.done = true};
    if (code == 200) {
      if (start_ > 0 && !begun_) part_.clear();
      return {.done = true};
    }
    if (code == 416 && start_ > 0) {
      // No bytes follow the part: it is complete, or belongs to another file.
      if (total_ == start_) return {.done = true};
      part_.clear();
      return {.may_retry = true, .reason = "the server has fewer bytes than an earlier download left"};
    }
    return {.may_retry = is_passing(code), .reason = "the server answers " + answer_};
  }

  TransferEnd after_failure(CURLcode code) {
    const std::string reason = error_[0] ? error_.data() : curl_easy_strerror(code);
    const CurlFailure kind = kind_of(code);
    const bool is_unreachable = kind == CurlFailure::Unreachable && (!is_http_ || !answered_);
    const bool is_of_range = code == CURLE_BAD_DOWNLOAD_RESUME || code == CURLE_RANGE_ERROR;
    if (is_of_range) part_.clear();
    return {.may_retry = kind != CurlFailure::Final || is_of_range,
            .unreachable = is_unreachable || code == CURLE_PEER_FAILED_VERIFICATION,
            .reason = reason};
  }

  static size_t on_header(char* text, size_t /*one*/, size_t length, void* self) {
    static_cast<Transfer*>(self)->take_header({text, length});
    return length;
  }

  void take_header(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    constexpr std::string_view kRange = "content-range: bytes ";
    if (line.starts_with("HTTP/")) {  // also for each redirection
      is_http_ = answered_ = true;
      first_ = total_ = -1;
      const size_t space = line.find(' ');
      answer_ = space == std::string_view::npos ? line : line.substr(space + 1);
    } else if (line.size() > kRange.size() && strncasecmp(line.data(), kRange.data(), kRange.size()) == 0) {
      long long first = -1, last = -1, total = -1;
      const std::string range(line.substr(kRange.size()));
      if (std::sscanf(range.c_str(), "*/%lld", &total) == 1) {
        total_ = total;
      } else if (std::sscanf(range.c_str(), "%lld-%lld/%lld", &first, &last, &total) >= 2) {
        first_ = first;
        total_ = total;
      }
    }
  }

  static size_t on_body(const char* data, size_t /*one*/, size_t bytes, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    try {
      return transfer.take_body(data, bytes) ? bytes : 0;
    } catch (...) {
      transfer.failure_ = std::current_exception();
      return 0;
    }
  }

  bool take_body(const char* data, size_t bytes) {
    const long code = status();
    if (code != 0 && code != 200 && code != 206) return true;  // the body is a page that explains the error
    if (!begun_ && !begin(code)) return false;
    begun_ = true;
    if (size_ && part_.size() + static_cast<int64_t>(bytes) > *size_)
      return stop("the file is longer than the " + std::to_string(*size_) + " bytes expected");
    part_.append(data, bytes);
    return true;
  }

  /// Compares the answer with the request, before the first byte is stored.
  bool begin(long code) {
    if (code == 206 && first_ != start_) {
      part_.clear();
      may_retry_ = true;
      return stop("the server answers with other bytes than those asked for");
    }
    if (code == 200) {
      if (start_ > 0) part_.clear();
      curl_off_t length = -1;
      curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
      total_ = length;
    }
    if (size_ && total_ >= 0 && total_ != *size_) {
      return stop("the server's file has " + std::to_string(total_) + " bytes, expected " + std::to_string(*size_));
    }
    return true;
  }

  bool stop(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    if (received_signal() != 0) return 1;
    static_cast<Transfer*>(self)->show_progress();
    return 0;
  }

  void show_progress() {
    constexpr auto kPause = std::chrono::seconds(5);
    static const bool is_terminal = ::isatty(STDERR_FILENO);
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal || now - shown_ < kPause) return;
    shown_ = now;
    const int64_t all = size_.value_or(total_);
    console::info(shown_url(url_) + ": " + megabytes(part_.size()) + (all > 0 ? " of " + megabytes(all) : "") + " MB");
  }

  const std::string& url_;
  PartFile& part_;
  const std::optional<int64_t> size_;
  const int64_t start_;
  std::array<char, CURL_ERROR_SIZE> error_ = {};

  bool is_http_ = false, answered_ = false, begun_ = false, may_retry_ = false;
  std::string answer_ = {};          // "404 Not Found"
  int64_t first_ = -1, total_ = -1;  // from Content-Range, or the length of a complete answer
  std::string reason_ = {};          // reason why the answer was rejected
  std::exception_ptr failure_ = {};
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
  CurlHandle handle_;  // last: its destructor may call back
};

}  // namespace

TransferEnd fetch_rest(const std::string& url, PartFile& part, std::optional<int64_t> size, double timeout_seconds) {
  return Transfer(url, part, size, timeout_seconds).run();
}

}  // namespace levin::data
