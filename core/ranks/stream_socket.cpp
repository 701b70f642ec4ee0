#include <levin/core/ranks/stream_socket.h>
#include <arpa/inet.h>
#include <levin/core/system/error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

namespace levin {
namespace {

struct AddressPort {
  bool known = false;
  int64_t port = 0;
};

AddressPort port_in(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return {true, ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port)};
  if (address.ss_family == AF_INET6) return {true, ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)};
  return {};
}

AddressPort own_port(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? port_in(address)
                                                                                      : AddressPort();
}

AddressPort port_of_peer(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  return ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? port_in(address)
                                                                                      : AddressPort();
}

/// Sends small messages at once instead of waiting to fill a packet, and drops a connection to a machine that has been
/// silent for half a minute, as after a cut: without data the kernel of a machine that is there answers by itself.
void set_options(int descriptor) {
  const int on = 1, idle = 10, interval = 5, probes = 4, unanswered_milliseconds = 30000;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_milliseconds, sizeof(unanswered_milliseconds));
}

/// Listens on a port and returns the descriptor; -1 if it fails.
int try_to_listen(int family, bool on_loopback, int64_t port) {
  StreamSocket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return -1;
  const int on = 1, off = 0;
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage address = {};
  socklen_t size = 0;
  if (family == AF_INET6) {
    // Listening on all addresses includes IPv4's.
    ::setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    auto& six = reinterpret_cast<sockaddr_in6&>(address);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    size = sizeof(six);
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(address);
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<uint16_t>(port));
    four.sin_addr.s_addr = htonl(on_loopback ? INADDR_LOOPBACK : INADDR_ANY);
    size = sizeof(four);
  }
  if (::bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), size) != 0) return -1;
  return ::listen(socket.descriptor(), SOMAXCONN) == 0 ? socket.release() : -1;
}

/// Connects to one of a host's addresses; returns -1 and sets errno if it fails.
int try_to_connect(const std::string& host, int64_t port, std::chrono::milliseconds timeout) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) {
    errno = EHOSTUNREACH;
    return -1;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    StreamSocket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (!socket) continue;
    socket.set_timeout(std::chrono::seconds(1) + std::chrono::duration_cast<std::chrono::seconds>(timeout));
    if (::connect(socket.descriptor(), one->ai_addr, one->ai_addrlen) != 0) continue;
    socket.set_timeout(std::chrono::seconds(0));
    return socket.release();
  }
  return -1;
}

}  // namespace

StreamSocket& StreamSocket::operator=(StreamSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

StreamSocket::~StreamSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

StreamSocket StreamSocket::listen(bool on_loopback, int64_t port) {
  int descriptor = on_loopback ? -1 : try_to_listen(AF_INET6, on_loopback, port);
  // Without IPv6, or on loopback.
  if (descriptor < 0) descriptor = try_to_listen(AF_INET, on_loopback, port);
  if (descriptor < 0) throw UsageError("port ", port, ": ", std::strerror(errno));
  return StreamSocket(descriptor);
}

StreamSocket StreamSocket::connect(const std::string& host, int64_t port, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (const int descriptor = try_to_connect(host, port, timeout); descriptor >= 0) {
      set_options(descriptor);
      return StreamSocket(descriptor);
    }
    const int error = errno;
    if (std::chrono::steady_clock::now() >= end) throw Error(host, ":", port, ": ", std::strerror(error));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

int64_t StreamSocket::port() const { return own_port(descriptor_).port; }

StreamSocket StreamSocket::accept() const {
  for (;;) {
    const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor >= 0) {
      set_options(descriptor);
      return StreamSocket(descriptor);
    }
    if (errno == EINVAL || errno == EBADF) return {};
    // Out of descriptors, or the connection was closed again.
    if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

bool StreamSocket::is_from_this_process() const {
  const AddressPort here = own_port(descriptor_), there = port_of_peer(descriptor_);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    const AddressPort own = own_port(descriptor);
    if (own.known && own.port == there.port && port_of_peer(descriptor).port == here.port) return true;
  }
  return false;
}

void StreamSocket::set_timeout(std::chrono::seconds timeout) const {
  timeval time = {};
  time.tv_sec = timeout.count();
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) ::setsockopt(descriptor_, SOL_SOCKET, which, &time, sizeof(time));
}

bool StreamSocket::send_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string StreamSocket::receive(size_t count) const {
  std::string bytes(count, '\0');
  size_t got = 0;
  while (got < count) {
    const ssize_t received = ::recv(descriptor_, bytes.data() + got, count - got, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) break;
    got += static_cast<size_t>(received);
  }
  bytes.resize(got);
  return bytes;
}

void StreamSocket::shut_down() const { ::shutdown(descriptor_, SHUT_RDWR); }

void pass_on(const StreamSocket& a, const StreamSocket& b) {
  const std::array<const StreamSocket*, 2> ends = {&a, &b};
  std::array<char, 1 << 16> bytes;
  for (bool open = true; open;) {
    pollfd waiting[2] = {{a.descriptor(), POLLIN, 0}, {b.descriptor(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) break;
    for (size_t i = 0; i < 2 && open; ++i) {
      if (waiting[i].revents == 0) continue;
      const ssize_t got = ::recv(ends[i]->descriptor(), bytes.data(), bytes.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      open = got > 0 && ends[1 - i]->send_all({bytes.data(), static_cast<size_t>(got)});
    }
  }
  a.shut_down();
  b.shut_down();
}

}  // namespace levin
