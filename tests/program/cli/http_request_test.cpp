#include <levin/program/runs/http_request.h>
#include <levin/program/runs/http_answer.h>

#include "tests/catch.h"

using levin::runs::HttpRequest;
using levin::runs::parse_http_request;

namespace {

std::optional<HttpRequest> with_headers(const std::string& headers) {
  return parse_http_request("GET / HTTP/1.1\r\n" + headers + "\r\n");
}

std::optional<HttpRequest> of_target(const std::string& target) {
  return parse_http_request("GET " + target + " HTTP/1.1\r\n\r\n");
}

}  // namespace

TEST_CASE("a request is read with its query, headers and cookies") {
  const auto request = parse_http_request(
      "GET /run?path=a%2Fb+c&token=x&path=second&empty HTTP/1.1\r\nHost: localhost:80\r\nCOOKIE: a=1; levin_token=2\r\n"
      "Cookie:levin_tokens=3\r\nX-Empty:\r\nX-Blanks: \t a b \t\r\n\r\n");
  REQUIRE(request);
  CHECK(request->method == "GET");
  CHECK(request->target == "/run?path=a%2Fb+c&token=x&path=second&empty");
  CHECK(request->path == "/run");
  CHECK(request->parameter("path") == "a/b c");
  CHECK(request->parameter("token") == "x");
  CHECK(request->query.contains("empty"));
  CHECK(request->parameter("none").empty());
  CHECK(request->header("host") == "localhost:80");
  CHECK(request->header("x-blanks") == "a b");
  CHECK(request->header("x-empty").empty());
  CHECK(request->cookie("levin_token") == "2");
  CHECK(request->cookie("levin_tokens") == "3");
  CHECK(request->cookie("token").empty());
  CHECK_FALSE(request->has_body);
  CHECK(of_target("/?a=%00")->parameter("a") == std::string(1, '\0'));
}

TEST_CASE("a body is seen by its headers") {
  CHECK_FALSE(with_headers("Content-Length: 0\r\n")->has_body);
  for (const char* header : {"Content-Length: 1\r\n", "content-length: x\r\n", "Transfer-Encoding: chunked\r\n",
                             "Content-Length: 0\r\nContent-Length: 5\r\n", "Content-Length: -0\r\n"})
    CHECK(with_headers(header)->has_body);
}

TEST_CASE("what is no request of HTTP/1.1 is refused") {
  for (const char* text : {"", "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\n",
                           "GET / HTTP/1.1\n\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n",
                           " GET / HTTP/1.1\r\n\r\n", "G(T / HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
                           "GET * HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "\x16\x03\x01\r\n\r\n"})
    CHECK_FALSE(parse_http_request(text));
  for (const char* target : {"/?a=%", "/?a=%4", "/?a=%4g", "/?%zz=1", "/?a=%-1", "/\x7f", "/\t", "/\n", "run"})
    CHECK_FALSE(of_target(target));
  for (const std::string& header :
       {std::string("Host\r\n"), std::string(": a\r\n"), std::string("A B: c\r\n"), std::string("A : c\r\n"),
        std::string("A: b\r\n folded\r\n"), std::string("A: b\nC: d\r\n"), std::string("A: b\rC: d\r\n"),
        std::string("A: \0\r\n", 6), std::string("Host: a\r\nhost: b\r\n")})
    CHECK_FALSE(with_headers(header));
}

TEST_CASE("an answer says its length and that the connection is closed") {
  const std::string head = levin::runs::http_head(levin::runs::HttpAnswer::text(404, "no"));
  CHECK(head.starts_with("HTTP/1.1 404 Not Found\r\n"));
  CHECK(head.find("\r\nContent-Length: 3\r\n") != std::string::npos);
  CHECK(head.find("\r\nConnection: close\r\n") != std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(levin::runs::http_head({.status = 304}).find("Content-Length") == std::string::npos);
}
