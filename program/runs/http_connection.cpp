#include <levin/program/runs/http_connection.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace levin::runs {
namespace {

constexpr size_t kMostHeader = 16 << 10;
constexpr size_t kMostDiscarded = 256 << 10;  // of a body, so that its sender can read the answer
constexpr std::chrono::seconds kToSendHeader{10}, kToTakeSome{10}, kToTakeAll{60}, kToClose{1};

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpConnection::HttpConnection(StreamSocket socket, std::string address, Clock::time_point now)
    : socket_(std::move(socket)), address_(std::move(address)), deadline_(now + kToSendHeader) {}

short HttpConnection::events() const {
  if (stage_ == Stage::Waiting || stage_ == Stage::Asked)
    return 0;  // poll tells of a client that has left all the same
  return stage_ == Stage::Writing ? POLLOUT : POLLIN;
}

bool HttpConnection::read(Clock::time_point now) {
  std::array<char, 4096> bytes;
  const ssize_t count = ::recv(descriptor(), bytes.data(), bytes.size(), 0);
  if (count < 0 && would_wait()) return false;
  if (count <= 0) {
    close();
    return false;
  }
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t from = received_.size() < kEnd.size() ? 0 : received_.size() - kEnd.size();
  received_.append(bytes.data(), static_cast<size_t>(count));
  const size_t end = received_.find(kEnd, from);
  if (end != std::string::npos && end + kEnd.size() <= kMostHeader) return take_header(end + kEnd.size(), now);
  if (received_.front() < 'A' || received_.front() > 'Z')
    answer(HttpAnswer::text(400, "This is no request of HTTP; the address begins with http:// here."), now);
  else if (received_.size() >= kMostHeader)
    answer(HttpAnswer::text(431, "A request's header has at most 16 KB."), now);
  return false;
}

bool HttpConnection::take_header(size_t size, Clock::time_point now) {
  std::optional<HttpRequest> request = parse_http_request(std::string_view(received_).substr(0, size));
  received_ = {};
  if (request)
    request_ = std::move(*request);
  else
    answer(HttpAnswer::text(400, "This is no request of HTTP/1.1."), now);
  return request.has_value();
}

void HttpConnection::wait() {
  stage_ = Stage::Waiting;
  deadline_ = Clock::time_point::max();
}

void HttpConnection::answer(const HttpAnswer& answer, Clock::time_point now) {
  received_ = {};
  head_ = http_head(answer);
  if (request_.method != "HEAD" && answer.status != 304) body_ = answer.body;
  sent_ = 0;
  stage_ = Stage::Writing;
  deadline_ = now + kToTakeSome;
  last_deadline_ = now + kToTakeAll;
  write(now);
}

void HttpConnection::write(Clock::time_point now) {
  const size_t body_size = body_ ? body_->size() : 0;
  while (sent_ < head_.size() + body_size) {
    const size_t of_head = std::min(sent_, head_.size()), of_body = sent_ - of_head;
    // sendmsg changes nothing of what it is given.
    std::array<iovec, 2> parts = {iovec{head_.data() + of_head, head_.size() - of_head}, iovec{}};
    if (body_size > 0) parts[1] = {const_cast<char*>(body_->data()) + of_body, body_size - of_body};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t count = ::sendmsg(descriptor(), &message, MSG_NOSIGNAL);
    if (count < 0 && would_wait()) return;
    if (count < 0) return close();
    sent_ += static_cast<size_t>(count);
    deadline_ = std::min(now + kToTakeSome, last_deadline_);
  }
  head_ = {};
  body_ = {};
  ::shutdown(descriptor(), SHUT_WR);
  stage_ = Stage::Lingering;
  deadline_ = now + kToClose;
}

void HttpConnection::discard() {
  std::array<char, 16384> bytes;
  const ssize_t count = ::recv(descriptor(), bytes.data(), bytes.size(), 0);
  if (count < 0 && would_wait()) return;
  if (count > 0) discarded_ += static_cast<size_t>(count);
  if (count <= 0 || discarded_ > kMostDiscarded) close();
}

bool HttpConnection::go_on(Clock::time_point now) {
  switch (stage_) {
    case Stage::Reading:
      return read(now);
    case Stage::Writing:
      write(now);
      break;
    case Stage::Lingering:
      discard();
      break;
    case Stage::Waiting:
    case Stage::Asked:
      close();
      break;  // the client has left
    case Stage::Closed:
      break;
  }
  return false;
}

void HttpConnection::expire(Clock::time_point now) {
  if (now < deadline_ || stage_ == Stage::Closed) return;
  if (stage_ == Stage::Reading && !received_.empty())
    answer(HttpAnswer::text(408, "The request's header did not come within ten seconds."), now);
  else
    close();
}

void HttpConnection::close() {
  socket_ = {};
  received_ = head_ = {};
  body_ = {};
  stage_ = Stage::Closed;
}

}  // namespace levin::runs
