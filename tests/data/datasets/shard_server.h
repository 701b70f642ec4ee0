#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// A local HTTP server of files for many connections at once, which it keeps open; answers can come late, break off, or
/// be errors.
class ShardServer {
 public:
  struct Request {
    std::string method = {}, path = {};  ///< without the query
    int64_t number = 0;                  ///< of the requests for this path with this method, from 0
  };
  struct Answer {
    std::string status = {};               ///< an error: "503 Service Unavailable"; empty: the file
    std::string body = {};                 ///< the whole file
    std::string version = {};              ///< its ETag
    std::optional<size_t> cut_after = {};  ///< bytes of the body before the connection breaks
  };
  using Handler = std::function<Answer(const Request&)>;

  explicit ShardServer(Handler handler, std::chrono::milliseconds delay = {})
      : handler_(std::move(handler)), delay_(delay), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, name, length) != 0 || ::listen(listener_, 128) != 0 ||
        ::getsockname(listener_, name, &length) != 0)
      throw std::runtime_error("no test server can be started");
    port_ = ntohs(address.sin_port);
    ::setenv("no_proxy", "127.0.0.1", 1);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~ShardServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int connection : open_) ::shutdown(connection, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }
  ShardServer(const ShardServer&) = delete;
  ShardServer& operator=(const ShardServer&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  int port() const { return port_; }
  /// Returns how many requests with this method there were.
  int64_t requests(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    int64_t count = 0;
    for (const auto& [key, number] : requests_) count += key.first == method ? number : 0;
    return count;
  }

 private:
  void accept_all() {
    for (;;) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      const int on = 1;
      ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      const std::lock_guard lock(mutex_);
      open_.insert(connection);
      threads_.emplace_back([this, connection] {
        while (answer_one(connection)) {
        }
        const std::lock_guard closing(mutex_);
        open_.erase(connection);
        ::close(connection);
      });
    }
  }

  /// Answers one request; false if no other can follow on the connection.
  bool answer_one(int connection) {
    std::string text;
    char buffer[4096];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(connection, buffer, sizeof(buffer), 0);
      if (got <= 0) return false;
      text.append(buffer, static_cast<size_t>(got));
    }
    const size_t space = text.find(' ');
    Request request{.method = text.substr(0, space),
                    .path = text.substr(space + 1, text.find_first_of(" ?", space + 1) - space - 1)};
    record(request);
    std::this_thread::sleep_for(delay_);
    const Answer answer = handler_(request);
    if (!answer.status.empty())
      return send_all(connection, "HTTP/1.1 " + answer.status + "\r\nContent-Length: 0\r\n\r\n");
    size_t from = 0, to = answer.body.size();
    std::string head = "HTTP/1.1 200 OK\r\n";
    if (const size_t at = text.find("Range: bytes="); at != std::string::npos) {
      const std::string range = text.substr(at + 13, text.find('\r', at) - at - 13);
      const size_t dash = range.find('-');
      from = std::stoull(range);
      if (dash + 1 < range.size()) to = std::min<size_t>(to, std::stoull(range.substr(dash + 1)) + 1);
      head = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(from) + "-" +
             std::to_string(to - 1) + "/" + std::to_string(answer.body.size()) + "\r\n";
    }
    head += "ETag: \"" + answer.version + "\"\r\nAccept-Ranges: bytes\r\nContent-Length: " + std::to_string(to - from) +
            "\r\n\r\n";
    if (!send_all(connection, head)) return false;
    if (request.method == "HEAD") return true;
    const size_t sent = std::min(to - from, answer.cut_after.value_or(to - from));
    return send_all(connection, {answer.body.data() + from, sent}) && sent == to - from;
  }

  void record(Request& request) {
    const std::lock_guard lock(mutex_);
    request.number = requests_[{request.method, request.path}]++;
  }

  static bool send_all(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  Handler handler_;
  std::chrono::milliseconds delay_;
  int listener_, port_ = 0;
  mutable std::mutex mutex_ = {};
  std::map<std::pair<std::string, std::string>, int64_t> requests_ = {};  // by method and path
  std::set<int> open_ = {};
  std::vector<std::thread> threads_ = {};
  std::thread accepting_ = {};
};
