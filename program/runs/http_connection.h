#pragma once
#include <levin/core/ranks/stream_socket.h>
#include <levin/program/runs/http_answer.h>
#include <levin/program/runs/http_request.h>

#include <chrono>
#include <optional>
#include <string>

namespace levin::runs {

/// A connection of a client, for one request. Nothing here waits: each function does what can be done at once.
class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Stage {
    Lingering,  ///< the answer is sent; the client shall close first, or it might lose a part
    Reading,    ///< the header is not whole
    Writing,    ///< the answer is being sent
    Waiting,    ///< the answer will be made
    Asked,      ///< the answer is being made
    Closed,
  };

  /// Takes a socket that does not block. `address` tells clients apart.
  HttpConnection(StreamSocket socket, std::string address, Clock::time_point now);

  int descriptor() const { return socket_.descriptor(); }
  Stage stage() const { return stage_; }
  const std::string& address() const { return address_; }
  const HttpRequest& request() const { return request_; }
  /// The rest of the answer; null unless it is being sent.
  const std::shared_ptr<const std::string>& body() const { return body_; }
  /// What poll shall wait for.
  short events() const;

  /// Reads what has come. Returns true once the request is whole; what is none is answered so.
  bool read(Clock::time_point now);
  /// Lets the client wait until its answer is made, and while it is.
  void wait();
  void ask() { stage_ = Stage::Asked; }
  /// Answers, as far as the client takes it at once.
  void answer(const HttpAnswer& answer, Clock::time_point now);
  /// Reads or writes what can be done at once, if poll has found something. Returns what `read` returns.
  bool go_on(Clock::time_point now);
  /// Gives up what takes too long.
  void expire(Clock::time_point now);
  void close();

 private:
  bool take_header(size_t size, Clock::time_point now);
  void write(Clock::time_point now);
  void discard();

  StreamSocket socket_ = {};
  std::string address_ = {};
  Stage stage_ = Stage::Reading;
  std::string received_ = {};
  HttpRequest request_ = {};
  std::string head_ = {};
  std::shared_ptr<const std::string> body_ = {};
  size_t sent_ = 0, discarded_ = 0;
  Clock::time_point deadline_ = {}, last_deadline_ = {};
};

}  // namespace levin::runs
