#include <levin/data/download/download.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/download/curl_transfer.h>
#include <levin/data/download/part_file.h>
#include <levin/data/download/sha256.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/download/url_host.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

/// Returns the reason why a file does not match; empty if it matches.
std::string mismatch(const fs::path& path, const DownloadOptions& options) {
  const auto size = static_cast<int64_t>(fs::file_size(path));
  if (options.size && size != *options.size)
    return "it has " + std::to_string(size) + " bytes, expected " + std::to_string(*options.size);
  if (options.sha256.empty()) return "";
  std::string expected = options.sha256;
  std::ranges::transform(expected, expected.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string got = sha256_of(path);
  return got == expected ? "" : "its SHA-256 is " + got + ", expected " + expected;
}

bool is_there(const fs::path& path, const DownloadOptions& options) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && mismatch(path, options).empty();
}

/// Sleeps in short intervals, so that a signal can end the pause.
void pause(double seconds) {
  constexpr auto kNap = std::chrono::milliseconds(50);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (received_signal() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kNap);
}

class Download {
 public:
  Download(const std::string& url, const fs::path& path, PartFile& part, const DownloadOptions& options)
      : url_(url), shown_(shown_url(url)), path_(path), part_(part), options_(options) {}

  /// Fetches until the file is complete, according to the server or, if known, to the size.
  void fetch() {
    const int64_t at_start = part_.size();
    int64_t most = at_start, failures = 0;
    double wait_seconds = options_.retry_seconds;
    if (options_.size && at_start > *options_.size) part_.clear();
    while (part_.size() != options_.size) {
      TransferEnd end = fetch_rest(url_, part_, options_.size, options_.timeout_seconds);
      if (end.done && (!options_.size || part_.size() == *options_.size)) return;
      if (end.done) end = {.may_retry = true, .reason = "the connection ended early"};
      if (part_.size() > most) {
        most = part_.size();
        failures = 0;
        wait_seconds = options_.retry_seconds;
      }
      failures += 1;
      const bool nothing_came = most == at_start;
      if (end.unreachable && nothing_came) throw_unreachable(end);
      if (!end.may_retry || failures > options_.retries) throw_failed(end);
      console::info(shown_ + ": " + end.reason + "; trying again from byte " + std::to_string(part_.size()));
      pause(wait_seconds);
      wait_seconds *= 2;
    }
  }

 private:
  [[noreturn]] void throw_unreachable(const TransferEnd& end) const {
    remove_useless_part();
    throw Error("cannot reach ", host_of(url_), ": ", end.reason, "; download ", shown_, " by hand to ",
                path_.string());
  }

  [[noreturn]] void throw_failed(const TransferEnd& end) const {
    remove_useless_part();
    const bool kept = part_.size() > 0 && !options_.sha256.empty();
    const std::string advice = kept ? "try again, which resumes from what is in " + part_.path().string()
                                    : std::string("try again, or give another url");
    throw Error(shown_, ": ", end.reason, "; ", advice, ", or download it by hand to ", path_.string());
  }

  /// Removes an empty part, and a part without a checksum: nothing would tell whether the rest fits it.
  void remove_useless_part() const {
    if (part_.size() == 0 || options_.sha256.empty()) part_.remove();
  }

  const std::string& url_;
  const std::string shown_;
  const fs::path& path_;
  PartFile& part_;
  const DownloadOptions& options_;
};

}  // namespace

void download(const std::string& url, const fs::path& path, const DownloadOptions& options) {
  if (is_there(path, options)) return;
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) throw UsageError(path.parent_path().string(), ": this folder cannot be made: ", error.message());
  PartFile part(path);
  if (is_there(path, options)) return part.remove();  // another process was faster
  if (options.sha256.empty()) part.clear();
  const bool continued = part.size() > 0;
  console::info("downloading " + shown_url(url) + " to " + path.string());
  Download download(url, path, part, options);
  download.fetch();
  std::string wrong = mismatch(part.path(), options);
  if (!wrong.empty() && continued) {
    // The part of an earlier download may belong to another file.
    part.clear();
    download.fetch();
    wrong = mismatch(part.path(), options);
  }
  if (!wrong.empty()) {
    part.remove();
    throw Error(shown_url(url), ": this is not the right file: ", wrong,
                "; it was removed, try again or give another url");
  }
  part.commit();
}

}  // namespace levin::data
