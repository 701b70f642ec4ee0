#include <levin/trainer/loggers/row_file.h>
#include <fcntl.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace levin {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw Error(path.string(), ": ", what, ": ", std::strerror(errno));
}

}  // namespace

RowFile::RowFile(std::filesystem::path path) : path_(std::move(path)) {
  open();
  const std::string text = read();
  if (!text.empty() && text.back() != '\n') replace(std::string_view(text).substr(0, text.rfind('\n') + 1));
}

RowFile::~RowFile() { close(); }

void RowFile::open() {
  fd_ = open_file(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) fail(path_, "cannot open the file");
}

void RowFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string RowFile::read() const {
  std::string text;
  errno = read_file(path_, text);
  if (errno != 0) fail(path_, "cannot read the file");
  return text;
}

void RowFile::append(std::string_view line) {
  struct stat status{};
  if (::fstat(fd_, &status) != 0 || status.st_nlink == 0) {
    throw Error(path_.string(), ": the file was removed while the run was writing to it");
  }
  const int error = write_all(fd_, line.data(), line.size());
  if (error == 0) return;
  // What a full disk took of the line would be the beginning of the next one.
  [[maybe_unused]] const int cut = ::ftruncate(fd_, status.st_size);
  errno = error;
  fail(path_, "cannot write to the file");
}

void RowFile::replace(std::string_view text) {
  write_text_file_atomically(path_, text);
  close();
  open();
}

void RowFile::sync() {
  errno = sync_file(fd_);
  if (errno != 0) fail(path_, "cannot write to the disk");
}

std::string_view first_lines(std::string_view text, int64_t count) {
  size_t end = 0;
  for (int64_t i = 0; i < count; ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

void check_metric_names(const Metrics& values) {
  for (const char* reserved : {"step", "epoch", "wall_seconds"}) {
    if (values.count(reserved)) {
      throw UsageError("log: every row has a column '", reserved, "'; give the metric of that name another one");
    }
  }
}

}  // namespace levin
