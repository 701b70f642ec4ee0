#pragma once
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// A request to a server, for http and https.
struct HttpRequest {
  std::string method = "POST";
  std::string url = {};
  std::vector<std::string> headers = {};  ///< "Name: value"
  std::string body = {};
  std::filesystem::path file = {};  ///< if set, this file is the body
  std::string user = {};            ///< "name:password" for basic authentication
  /// Seconds without a connection, or without a byte, after which the request fails. Without a file, also of all.
  double timeout_seconds = 10;
  const std::atomic<bool>* stop = nullptr;  ///< if it becomes true, the request fails within a second
};

/// What became of a request.
struct HttpAnswer {
  long status = 0;         ///< 0: there was no answer
  std::string body = {};   ///< at most 16 MB; a longer one is an error
  std::string error = {};  ///< why there was no answer, or no whole one

  /// Returns whether a whole answer has come whose status is 200 to 299.
  bool ok() const { return error.empty() && status >= 200 && status < 300; }
  /// Returns whether the same request may succeed later: there was no answer, or the server is overloaded or broken.
  bool may_retry() const;
  /// Returns what went wrong, in a few words: "the server answers 500".
  std::string reason() const;
};

/// Sends a request with libcurl and waits for the answer. Redirections are not followed, so that no password goes to
/// another server. Throws levin::Error if libcurl cannot be used, and UsageError for a header or URL that is none.
HttpAnswer send_http(const HttpRequest& request);

/// Returns `text` with all that is not a letter, a digit or one of "-._~" as %XX.
std::string url_encoded(const std::string& text);

/// Throws UsageError that begins with `option` unless `url` is one of http or https with a host.
void check_http_url(const std::string& option, const std::string& url);

}  // namespace levin
