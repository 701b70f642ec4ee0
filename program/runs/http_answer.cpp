#include <levin/program/runs/http_answer.h>

namespace levin::runs {
namespace {

/// Of every answer: nothing is kept by the browser, and a page loads nothing but what it holds.
constexpr const char* kEveryHead =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n";

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

std::string http_head(const HttpAnswer& answer) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " " + reason_of(answer.status) + "\r\n";
  const auto add = [&](const std::string& name, const std::string& value) { head += name + ": " + value + "\r\n"; };
  for (const auto& [name, value] : answer.headers) add(name, value);
  if (answer.status != 304) {
    add("Content-Type", answer.type);
    add("Content-Length", std::to_string(answer.body ? answer.body->size() : 0));
  }
  return head + kEveryHead + "\r\n";
}

}  // namespace levin::runs
