#include <levin/data/python/channel.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

namespace levin::data {
namespace {

constexpr uint32_t kMostBytes = uint32_t{1} << 28;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The space in which a descriptor comes with bytes.
union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void put_descriptor(msghdr& header, Control& control, int descriptor) {
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof(control.bytes);
  cmsghdr* const one = CMSG_FIRSTHDR(&header);
  one->cmsg_level = SOL_SOCKET;
  one->cmsg_type = SCM_RIGHTS;
  one->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(one), &descriptor, sizeof(int));
}

int descriptor_in(msghdr& header) {
  const cmsghdr* const one = CMSG_FIRSTHDR(&header);
  if (one == nullptr || one->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(one), sizeof(int));
  return descriptor;
}

}  // namespace

std::pair<Descriptor, Descriptor> Channel::ends() {
  int both[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
    throw Error("a socket to Python: ", std::strerror(errno));
  return {Descriptor(both[0]), Descriptor(both[1])};
}

bool Channel::send(const nlohmann::ordered_json& message, int descriptor) {
  return send_body(json_text(message), descriptor);
}

bool Channel::send_numbers(std::span<const int64_t> numbers) {
  return send_body({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}, -1);
}

bool Channel::send_body(std::string_view body, int descriptor) {
  const auto size = static_cast<uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += body;
  for (size_t sent = 0; sent < bytes.size();) {
    iovec part{bytes.data() + sent, bytes.size() - sent};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    Control control = {};
    if (descriptor >= 0 && sent == 0) put_descriptor(header, control, descriptor);
    const ssize_t count = ::sendmsg(socket_.number(), &header, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += static_cast<size_t>(count);
  }
  return true;
}

Received Channel::read(void* to, size_t bytes, int watch, double deadline, Descriptor& descriptor) {
  auto* const begin = static_cast<char*>(to);
  for (size_t have = 0; have < bytes;) {
    const double left = deadline - now();
    pollfd both[2] = {{socket_.number(), POLLIN, 0}, {watch, POLLIN, 0}};
    const int wait = std::isinf(deadline) ? -1 : static_cast<int>(std::clamp(left * 1000 + 1, 0.0, 1e9));
    const int ready = ::poll(both, 2, wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Received::TooLate;
    // What the process has sent before its end is still read.
    if (both[0].revents == 0) return Received::Ended;
    iovec part{begin + have, bytes - have};
    Control control = {};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes;
    header.msg_controllen = sizeof(control.bytes);
    const ssize_t count = ::recvmsg(socket_.number(), &header, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Received::Ended;
    if (const int came = descriptor_in(header); came >= 0) descriptor = Descriptor(came);
    have += static_cast<size_t>(count);
  }
  return Received::Message;
}

Received Channel::receive(int watch, double seconds, nlohmann::ordered_json& message, Descriptor& descriptor) {
  const double deadline = seconds > 0 ? now() + seconds : INFINITY;
  uint32_t size = 0;
  const Received head = read(&size, sizeof(size), watch, deadline, descriptor);
  if (head != Received::Message) return head;
  if (size > kMostBytes) throw Error("Python sent a message of ", size, " bytes; it is not levin's code that answers");
  std::string body(size, '\0');
  const Received rest = read(body.data(), body.size(), watch, deadline, descriptor);
  if (rest != Received::Message) return rest;
  if (!is_nested_deeper(body)) message = nlohmann::ordered_json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object()) throw Error("Python sent what is no message; it is not levin's code that answers");
  return Received::Message;
}

}  // namespace levin::data
