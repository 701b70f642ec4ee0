#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace levin::runs {

/// The header of an HTTP request. Its body is never kept.
struct HttpRequest {
  std::string method = {};
  std::string target = {};                          ///< as it was sent: "/run?path=a%2Fb"
  std::string path = {};                            ///< of the target, before "?"
  std::map<std::string, std::string> query = {};    ///< decoded; of a name that is repeated the first
  std::map<std::string, std::string> headers = {};  ///< by name in small letters
  bool has_body = false;

  /// Returns the value of a header, or of a name in the query; empty without it.
  std::string header(const std::string& name) const;
  std::string parameter(const std::string& name) const;
  /// Returns the value of a cookie; empty without it.
  std::string cookie(const std::string& name) const;
};

/// Reads the header of a request of HTTP/1.0 or 1.1, with the empty line at its end. Returns nullopt for what is none,
/// and where it has two headers Host.
std::optional<HttpRequest> parse_http_request(std::string_view text);

}  // namespace levin::runs
