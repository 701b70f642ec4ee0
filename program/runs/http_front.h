#pragma once
#include <levin/core/ranks/stream_socket.h>
#include <levin/program/runs/answer_thread.h>
#include <levin/program/runs/http_answer.h>
#include <levin/program/runs/http_request.h>

#include <functional>
#include <optional>
#include <string>

namespace levin::runs {

/// How the requests are answered.
struct HttpHandlers {
  /// Answers at once, or returns nullopt: then `make` answers. It is called between connections, so it must not wait.
  std::function<std::optional<HttpAnswer>(const HttpRequest&)> admit = {};
  /// Answers in a thread of its own. Requests that wait for the same target, unless another version is known
  /// (If-None-Match), are given one answer. Copied by the thread, which may outlive the rest.
  AnswerThread::Make make = {};
};

/// An HTTP server that keeps little memory for each client, and none of it for long:
///
/// - a connection is for one request, whose body is never kept; the header has at most 16 KB and ten seconds, however
///   it arrives; an answer of which nothing is taken for ten seconds, or not all of it in a minute, is given up;
/// - there are at most 256 connections, 64 of an address. One more takes the place of another: of one that was
///   answered, else, of the address that has the most, of the oldest that has not sent its header, else of the oldest;
/// - answers that wait to be taken have at most 64 MB together.
class HttpFront {
 public:
  /// Listens; on a free port if `port` is 0. Throws levin::UsageError if the address cannot be listened on.
  HttpFront(const std::string& host, int64_t port);

  int64_t port() const { return listener_.port(); }

  /// Serves until `ends` returns true, which is asked ten times a second, and closes all connections. Returns false if
  /// an answer is still being made a second later; its thread then continues.
  bool serve(const HttpHandlers& handlers, const std::function<bool()>& ends) const;

 private:
  StreamSocket listener_ = {};
};

}  // namespace levin::runs
