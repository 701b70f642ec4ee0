#include <levin/core/system/error.h>
#include <levin/data/download/curl_handle.h>
#include <levin/data/download/url_host.h>
#include <levin/trainer/loggers/http.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace levin {
namespace {

constexpr size_t kMostBytes = size_t{1} << 24;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

size_t take_body(const char* data, size_t /*one*/, size_t bytes, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + bytes > kMostBytes) return 0;
  text.append(data, bytes);
  return bytes;
}

int on_progress(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0;
}

}  // namespace

HttpAnswer send_http(const HttpRequest& request) {
  const data::CurlHandle handle = data::open_curl();
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(handle.get(), option, value); };
  HttpAnswer answer;
  std::array<char, CURL_ERROR_SIZE> error = {};
  const auto timeout_ms = static_cast<long>(std::ceil(request.timeout_seconds * 1000));
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_ERRORBUFFER, error.data());
  set(CURLOPT_USERAGENT, "levin");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(std::ceil(request.timeout_seconds)));
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_WRITEDATA, &answer.body);
  if (!request.user.empty()) set(CURLOPT_USERPWD, request.user.c_str());
  if (request.stop != nullptr) {
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    set(CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(request.stop));
    set(CURLOPT_NOPROGRESS, 0L);
  }
  std::unique_ptr<std::FILE, CloseFile> file;
  if (!request.file.empty()) {
    file.reset(std::fopen(request.file.c_str(), "rbe"));
    if (!file) {
      answer.error = request.file.string() + ": " + std::strerror(errno);
      return answer;
    }
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READDATA, file.get());
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(std::filesystem::file_size(request.file)));
  } else {
    set(CURLOPT_TIMEOUT_MS, timeout_ms);
    if (request.method != "GET") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.c_str());
    }
  }
  std::unique_ptr<curl_slist, FreeList> headers(curl_slist_append(nullptr, "Expect:"));
  for (const std::string& header : request.headers) {
    if (header.find_first_of("\r\n") != std::string::npos || header.find(':') == std::string::npos)
      throw UsageError("expected a header of HTTP such as \"Name: value\", got \"", header, "\"");
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  }
  set(CURLOPT_HTTPHEADER, headers.get());
  CURLcode code = CURLE_OK;
  {
    const data::BlockedPipeSignal blocked;
    code = curl_easy_perform(handle.get());
  }
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  if (code == CURLE_WRITE_ERROR)
    answer.error = "the server's answer is longer than 16 MB";
  else if (code == CURLE_ABORTED_BY_CALLBACK)
    answer.error = "the run has ended";
  else if (code != CURLE_OK)
    answer.error = error[0] ? error.data() : curl_easy_strerror(code);
  return answer;
}

void check_http_url(const std::string& option, const std::string& url) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  const std::string host = is_http ? data::host_of(url) : "";
  if (host.empty() || host == url)
    throw UsageError(option, ": expected a URL such as http://127.0.0.1:5000, got \"", url, "\"");
}

}  // namespace levin
