#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// What a server has answered.
struct HttpReply {
  long status = 0;                                  ///< 0: there was no answer
  std::string reason = {};                          ///< "404 Not Found"
  std::map<std::string, std::string> headers = {};  ///< names in small letters
  std::string body = {};                            ///< what HttpCall::take was not given, at most 16 MB
  std::string error = {};                           ///< why there was no answer, or no whole one
  bool is_passing = false;                          ///< the same call may succeed later

  bool is_good() const { return error.empty() && status >= 200 && status < 300; }
  /// Returns a header's value; empty if there is none.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found != headers.end() ? found->second : "";
  }
  /// Returns what went wrong, in a few words.
  std::string failure() const { return error.empty() ? "the server answers " + reason : error; }
};

/// A request to a server.
struct HttpCall {
  std::string method = "GET";
  std::string url = {};
  std::vector<std::string> headers = {};  ///< "Name: value"
  std::string_view body = {};             ///< of PUT and POST
  bool is_web = false;                    ///< follows redirects, and takes passwords from ~/.netrc
  bool ends_on_signal = true;             ///< a signal to this process ends the call with an error
  /// Gets the body of an answer of status 200 or 206, piece by piece, with what is known so far. False ends the call,
  /// which is no error.
  std::function<bool(const HttpReply& so_far, std::string_view bytes)> take = {};
};

/// Sends a request and waits for the answer; the connection is kept for the next call of this thread. Messages do not
/// name the URL. Throws levin::Error if this levin has no libcurl, and on a signal.
HttpReply call_http(const HttpCall& call);

}  // namespace levin::data
