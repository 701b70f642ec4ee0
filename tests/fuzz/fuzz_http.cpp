#include <levin/program/runs/http_request.h>

#include <algorithm>
#include <string_view>

#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"

namespace levin::testing {

void fuzz_http_request(const std::string& input) {
  const std::optional<runs::HttpRequest> request = runs::parse_http_request(input);
  if (!request) return;
  const auto has_control = [](std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; });
  };
  expect(request->target.starts_with("/") && request->target.starts_with(request->path),
         "a target begins with its path");
  expect(!has_control(request->method + request->target), "a request line has no control character");
  expect(request->target.find(' ') == std::string::npos, "a target has no blank");
  std::string again = request->method + " " + request->target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : request->headers) {
    expect(!name.empty() && !has_control(name + value), "a header has no control character");
    again += name + ": " + value + "\r\n";
  }
  request->cookie("levin_token");
  const std::optional<runs::HttpRequest> same = runs::parse_http_request(again + "\r\n");
  expect(same && same->headers == request->headers && same->query == request->query,
         "a request written again is the same");
}

const std::vector<std::string>& http_request_seeds() {
  static const std::vector<std::string> seeds = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "HEAD /run?path=a%2Fb+c&token=0123&path&=&&x=%00 HTTP/1.0\r\nHost: [::1]:80\r\nCookie: a=b; levin_token=1\r\n"
      "cookie: c\r\nAuthorization: Bearer 1\r\nIf-None-Match: \"12-e\"\r\n\r\n",
      "POST /api/run HTTP/1.1\r\nContent-Length: 5\r\ncontent-length:\t6 \r\nTransfer-Encoding: chunked\r\nX:\r\n\r\n",
      "GET / HTTP/1.1\r\nX:\r\nX:\r\nX: a\r\nX:\r\n\r\n",
      "GET http://a/ HTTP/1.1\r\n\r\n",
      "GET /%zz?a=%4 HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
  };
  return seeds;
}

}  // namespace levin::testing
