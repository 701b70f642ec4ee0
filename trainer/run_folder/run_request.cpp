#include <levin/trainer/run_folder/run_request.h>
#include <fcntl.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <system_error>

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPauseWord = "pause\n", kStopWord = "stop\n";
constexpr std::chrono::milliseconds kBetweenLooks{200};

}  // namespace

RunRequest read_run_request(const fs::path& run_folder) {
  // Anybody may have written the file: a FIFO would block, a link may lead elsewhere, a large file is none of ours.
  const int descriptor = open_file((run_folder / kRequestFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return RunRequest::None;
  std::array<char, 16> bytes = {};
  const ssize_t size = ::read(descriptor, bytes.data(), bytes.size());
  ::close(descriptor);
  const std::string_view text(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0);
  if (text == kPauseWord) return RunRequest::Pause;
  return text == kStopWord ? RunRequest::Stop : RunRequest::None;
}

void ask_run(const fs::path& run_folder, RunRequest request) {
  if (request != RunRequest::None) {
    write_text_file_atomically(run_folder / kRequestFile, request == RunRequest::Pause ? kPauseWord : kStopWord);
    return;
  }
  std::error_code error;
  fs::remove(run_folder / kRequestFile, error);
  if (error) throw Error((run_folder / kRequestFile).string(), ": cannot be removed: ", error.message());
}

void mark_paused(const fs::path& run_folder, bool is_paused) {
  const fs::path file = run_folder / kPausedFile;
  std::error_code ignored;
  if (!is_paused) {
    fs::remove(file, ignored);
    return;
  }
  const int descriptor = open_file(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor >= 0) ::close(descriptor);
}

bool is_marked_paused(const fs::path& run_folder) {
  std::error_code ignored;
  return fs::symlink_status(run_folder / kPausedFile, ignored).type() == fs::file_type::regular;
}

void clear_run_requests(const fs::path& run_folder) {
  std::error_code ignored;
  fs::remove(run_folder / kRequestFile, ignored);
  fs::remove(run_folder / kPausedFile, ignored);
}

RunRequest RunRequestReader::now() {
  const Clock::time_point now = Clock::now();
  if (folder_.empty() || now < next_) return known_;
  next_ = now + kBetweenLooks;
  return known_ = read_run_request(folder_);
}

}  // namespace levin
