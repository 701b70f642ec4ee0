#include <levin/program/commands/fit_view.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/private_folder.h>
#include <levin/program/cli/load_plugin.h>
#include <levin/program/commands/live_view.h>
#include <levin/program/commands/run_module.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/launch/start_process.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <system_error>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderVariable = "LEVIN_FIT_VIEW_FOLDER";
constexpr std::chrono::seconds kBetweenLooks{1};
constexpr std::streamoff kTailBytes = 4096;
constexpr uintmax_t kMostPrinted = 1 << 20;

/// A fit in a process of its own, whose output goes to a file.
class FitProcess {
 public:
  explicit FitProcess(const Words& words) : files_("fit_view") {
    Words command = plugin_flags();
    command.insert(command.begin(), "levin");
    command.emplace_back("fit");
    command.insert(command.end(), words.begin(), words.end());
    id_ = start_process({.words = std::move(command),
                         .program = "/proc/self/exe",
                         .variables = {{kFolderVariable, folder_file().string()}},
                         .output = log(),
                         .called = "the fit"});
  }

  void send(int signal_number) const { ::kill(id_, signal_number); }

  /// Returns the exit code, or 128 + the signal, once, when the process has ended.
  std::optional<int> reap() const {
    int status = 0;
    if (::waitpid(id_, &status, WNOHANG) != id_) return {};
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  /// Returns the run's folder; empty if it is not known yet, or there is none.
  fs::path run_folder() const {
    std::string text;
    return read_file(folder_file(), text) == 0 ? fs::path(text) : fs::path();
  }

  std::vector<std::string> last_lines() const {
    std::ifstream in(log(), std::ios::binary | std::ios::ate);
    const std::streamoff size = in.tellg();
    if (size > kTailBytes) in.seekg(size - kTailBytes);
    if (size <= kTailBytes) in.seekg(0);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
    return lines;
  }

  /// Prints what the process has printed, and keeps it in the run's folder.
  void hand_over_output() const {
    std::ifstream in(log(), std::ios::binary);
    if (const fs::path folder = run_folder(); !folder.empty()) {
      std::ofstream kept(folder / "output.log", std::ios::binary | std::ios::app);
      kept << in.rdbuf();
      in.clear();
      in.seekg(0);
    }
    std::error_code ignored;
    const uintmax_t size = fs::file_size(log(), ignored);
    if (!ignored && size > kMostPrinted) {
      in.seekg(static_cast<std::streamoff>(size - kMostPrinted));
      std::cout << "...";
    }
    if (!ignored && size > 0) std::cout << in.rdbuf();
    std::cout.flush();
  }

 private:
  fs::path folder_file() const { return files_ / "folder"; }
  fs::path log() const { return files_ / "output.log"; }

  PrivateFolder files_;
  ::pid_t id_ = -1;
};

/// Shows the fit until it has ended; returns its exit code.
int show_fit(const FitProcess& fit, LiveView& view) {
  runs::Screen screen;
  for (;;) {
    if (const std::optional<int> code = fit.reap()) return *code;
    if (const int signal_number = runs::Screen::ended_by(); signal_number != 0) {
      fit.send(signal_number);
      runs::Screen::forget_signal();
    }
    if (view.runs().empty())
      if (const fs::path folder = fit.run_folder(); !folder.empty()) view.add(folder);
    view.set_output(fit.last_lines());
    const LiveView::Wish wish = view.turn(screen);
    if (wish == LiveView::Wish::Leave) view.ask_to_stop();
    if (wish == LiveView::Wish::Stop) fit.send(SIGTERM);
  }
}

}  // namespace

std::shared_ptr<TellRunFolder> TellRunFolder::of_environment() {
  const char* const file = std::getenv(kFolderVariable);
  return file == nullptr ? nullptr : std::make_shared<TellRunFolder>(file);
}

void TellRunFolder::on_fit_start(Run& run) {
  if (run.comm().is_global_zero() && !run.folder().empty())
    write_text_file_atomically(file_, fs::absolute(run.folder()).string());
}

int fit_in_view(const Words& words) {
  if (::isatty(STDOUT_FILENO) != 1 || find_launch_environment()) return run_module("fit", words);
  const FitProcess fit(words);
  LiveView view(kBetweenLooks);
  const int code = show_fit(fit, view);
  if (!view.runs().empty()) print_lines(view.last_picture());
  fit.hand_over_output();
  return code;
}

}  // namespace levin::cli
