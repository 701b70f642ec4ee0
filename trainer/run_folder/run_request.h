#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace levin {

/// What is asked of a run from outside, in the file `request` of its folder.
enum class RunRequest : uint8_t {
  None,
  Pause,  ///< stand still after the accumulation window, until the request is taken back
  Stop,   ///< save a checkpoint and end, as after SIGTERM
};

/// The file that asks, whose text is "pause" or "stop", and the file that is there while the run stands still.
inline constexpr const char *kRequestFile = "request", *kPausedFile = "paused";

/// Returns what is asked of the run; None also if the file is none that `ask_run` has written.
RunRequest read_run_request(const std::filesystem::path& run_folder);

/// Asks the run; None takes back what was asked. Throws levin::Error or UsageError if the file cannot be written.
void ask_run(const std::filesystem::path& run_folder, RunRequest request);

/// Makes or removes the file that says that the run stands still. A failure is left out: it is for viewers alone.
void mark_paused(const std::filesystem::path& run_folder, bool is_paused);
bool is_marked_paused(const std::filesystem::path& run_folder);

/// Removes what viewers of an earlier session of the run have asked, and its mark.
void clear_run_requests(const std::filesystem::path& run_folder);

/// Reads a run's request a few times per second at most, so that it may be asked after each step.
class RunRequestReader {
 public:
  /// An empty folder is asked nothing.
  explicit RunRequestReader(std::filesystem::path run_folder) : folder_(std::move(run_folder)) {}
  RunRequest now();

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path folder_;
  Clock::time_point next_ = {};
  RunRequest known_ = RunRequest::None;
};

}  // namespace levin
