#include <levin/data/remote/object_range.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/remote/remote_call.h>
#include <levin/data/remote/retries.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

namespace levin::data {
namespace {

void read_local(const RemoteObject& object, const RemoteUrl& url, int64_t offset, int64_t size, char* into) {
  if (find_remote_object(object.url).version != object.version)
    throw Error(url.text, ": the file has changed since it was found");
  const int descriptor = open_file(url.key.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw UsageError(url.text, ": cannot be opened: ", std::strerror(errno));
  std::string reason;
  while (size > 0 && reason.empty()) {
    const ssize_t got = ::pread(descriptor, into, static_cast<size_t>(size), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      reason = got == 0 ? "the file has become shorter" : std::strerror(errno);
    } else {
      into += got;
      offset += got;
      size -= got;
    }
  }
  ::close(descriptor);
  if (!reason.empty()) throw Error(url.text, ": cannot be read: ", reason);
}

/// Reads a range, over several calls if one is cut.
class RangeRead {
 public:
  RangeRead(const RemoteObject& object, RemoteUrl url, int64_t offset, int64_t size, char* into)
      : object_(object), url_(std::move(url)), offset_(offset), size_(size), into_(into) {}

  RangeResult run(HttpReply* last) {
    Retries retries(shown_url(url_.text), /*ends_on_signal=*/true);
    while (true) {
      const int64_t before = done_;
      has_begun_ = false;
      HttpReply reply =
          call_once({.url = url_,
                     .more_headers = {{"Range", range()}},
                     .take = [this](const HttpReply& so_far, std::string_view bytes) { return take(so_far, bytes); }});
      if (has_no_ranges_) return RangeResult::ServerHasNoRanges;
      if (!wrong_.empty()) throw Error(shown_url(url_.text), ": ", wrong_);
      if (done_ == size_) {
        if (last != nullptr) *last = std::move(reply);
        return RangeResult::Read;
      }
      if (reply.is_good()) {
        reply.error = "the answer ended early";
      } else if (!reply.is_passing) {
        if (reply.status == 416)
          throw Error(shown_url(url_.text), ": the object has changed since it was found: it has become shorter");
        if (reply.error.empty()) refuse_reply(url_, reply);
        throw Error(shown_url(url_.text), ": ", reply.error);
      }
      if (done_ > before) retries.reset();
      retries.wait_after(reply);
    }
  }

 private:
  std::string range() const {
    return "bytes=" + std::to_string(offset_ + done_) + "-" + std::to_string(offset_ + size_ - 1);
  }

  bool take(const HttpReply& so_far, std::string_view bytes) {
    if (!has_begun_ && !check(so_far)) return false;
    if (!has_begun_ && so_far.status == 200 && (offset_ + done_ > 0 || range_of(so_far).all != size_)) {
      // The whole comes. It serves if it is what was asked for.
      has_no_ranges_ = true;
      return false;
    }
    has_begun_ = true;
    const auto count = static_cast<int64_t>(bytes.size());
    if (count > size_ - done_) return stop("the server sends more bytes than those asked for");
    std::memcpy(into_ + done_, bytes.data(), bytes.size());
    done_ += count;
    return true;
  }

  /// Compares the answer's headers with what was asked for.
  bool check(const HttpReply& so_far) {
    const std::string version = version_of(so_far);
    if (!object_.version.empty() && !version.empty() && version != object_.version)
      return stop("the object has changed since it was found: its version is " + version + ", and was " +
                  object_.version + "; start again to read the new one");
    const AnswerRange range = range_of(so_far);
    if (object_.size >= 0 && range.all >= 0 && range.all != object_.size)
      return stop("the object has changed since it was found: it has " + std::to_string(range.all) +
                  " bytes, and had " + std::to_string(object_.size));
    if (so_far.status == 206 && range.first != offset_ + done_)
      return stop("the server answers with other bytes than those asked for");
    return true;
  }

  bool stop(std::string wrong) {
    wrong_ = std::move(wrong);
    return false;
  }

  const RemoteObject& object_;
  const RemoteUrl url_;
  const int64_t offset_, size_;
  char* const into_;
  int64_t done_ = 0;
  bool has_begun_ = false;  // the current answer
  bool has_no_ranges_ = false;
  std::string wrong_ = {};  // why the answer is not taken
};

}  // namespace

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

AnswerRange range_of(const HttpReply& reply) {
  const std::string range = reply.header("content-range");
  if (reply.status != 206) return {.first = 0, .all = whole_number(reply.header("content-length")).value_or(-1)};
  long long first = -1, last = -1, all = -1;
  if (std::sscanf(range.c_str(), "bytes %lld-%lld/%lld", &first, &last, &all) < 2) first = -1;
  return {.first = first, .all = all};
}

RangeResult read_range(const RemoteObject& object, int64_t offset, int64_t size, char* into, HttpReply* reply) {
  RemoteUrl url = parse_remote_url(object.url);
  if (offset < 0 || size < 0 || (object.size >= 0 && size > object.size - offset))
    throw Error(shown_url(object.url), ": no bytes ", offset, " to ", offset, " + ", size, " of ", object.size);
  if (size == 0) return RangeResult::Read;
  if (url.scheme == RemoteScheme::File) {
    read_local(object, url, offset, size, into);
    return RangeResult::Read;
  }
  return RangeRead(object, std::move(url), offset, size, into).run(reply);
}

}  // namespace levin::data

namespace levin {

void read_remote_object(const RemoteObject& object, int64_t offset, int64_t size, char* into) {
  if (data::read_range(object, offset, size, into) == data::RangeResult::ServerHasNoRanges)
    throw Error(data::shown_url(object.url),
                ": its server cannot read a part of a file, which is needed here; fetch the ",
                "whole file first, or give it from another server");
}

}  // namespace levin
