#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// A local HTTP server for tests; its handler may also return broken responses.
///
/// It serves one connection at a time, and one request per connection.
class HttpServer {
 public:
  struct Request {
    std::string path;
    std::optional<int64_t> range_from;  ///< start of "Range: bytes=N-"
    int64_t number;                     ///< number of the request, from 0
  };
  struct Response {
    std::string status = "200 OK";
    std::vector<std::string> headers = {};
    std::string body = {};
    bool has_length = true;  ///< sends Content-Length
    /// Number of body bytes sent before the connection ends: with a reset if `reset` is true, otherwise normally.
    std::optional<size_t> cut_after = {};
    bool reset = false;
  };
  using Handler = std::function<Response(const Request&)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, name, length) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, name, &length) != 0) {
      throw std::runtime_error("no test server can be started");
    }
    port_ = ntohs(address.sin_port);
    ::setenv("no_proxy", "127.0.0.1", 1);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  int port() const { return port_; }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  /// Returns the response of a correct server to a request for `whole` or a part of it.
  static Response answer(const std::string& whole, const Request& request) {
    if (!request.range_from) return {.body = whole};
    const auto from = static_cast<size_t>(*request.range_from);
    const std::string size = std::to_string(whole.size());
    if (from >= whole.size())
      return {.status = "416 Range Not Satisfiable", .headers = {"Content-Range: bytes */" + size}};
    return {.status = "206 Partial Content",
            .headers = {"Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(whole.size() - 1) + "/" +
                        size},
            .body = whole.substr(from)};
  }

 private:
  void serve() {
    for (;;) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      std::string text;
      char buffer[4096];
      while (text.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(connection, buffer, sizeof(buffer), 0);
        if (got <= 0) break;
        text.append(buffer, static_cast<size_t>(got));
      }
      if (!text.empty()) respond(connection, handler_(record(text)));
      ::close(connection);
    }
  }

  Request record(const std::string& text) {
    const size_t begin = text.find(' ') + 1;
    Request request = {.path = text.substr(begin, text.find(' ', begin) - begin), .range_from = {}, .number = 0};
    const std::string range = "Range: bytes=";
    if (const size_t at = text.find(range); at != std::string::npos)
      request.range_from = std::stoll(text.substr(at + range.size()));
    const std::lock_guard lock(mutex_);
    request.number = static_cast<int64_t>(requests_.size());
    requests_.push_back(request);
    return request;
  }

  static void respond(int connection, const Response& response) {
    std::string head = "HTTP/1.1 " + response.status + "\r\nConnection: close\r\n";
    if (response.has_length) head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    for (const std::string& header : response.headers) head += header + "\r\n";
    send_all(connection, head + "\r\n");
    send_all(connection, response.body.substr(0, response.cut_after.value_or(response.body.size())));
    if (!response.reset) return;
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }

  static void send_all(int connection, const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }

  Handler handler_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_ = {};
  std::vector<Request> requests_ = {};
  std::thread thread_ = {};
};
