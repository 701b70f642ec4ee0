#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::runs {

/// The answer to a request.
struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body = {};  ///< shared by all who are sent the same
  std::vector<std::pair<std::string, std::string>> headers = {};

  /// Returns an answer in a line of text.
  static HttpAnswer text(int status, const std::string& line) {
    return {.status = status, .body = std::make_shared<const std::string>(line + "\n")};
  }
};

/// Returns the lines before the body of an answer, which say that the connection is closed after it, with the empty
/// line at their end.
std::string http_head(const HttpAnswer& answer);

}  // namespace levin::runs
