// What the program shows in a terminal.
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

namespace {

/// A fit of the program in a new terminal; its output is read as it arrives.
class TerminalFit {
 public:
  TerminalFit(const std::vector<std::string>& flags,
              const std::vector<std::pair<std::string, std::string>>& variables) {
    const char* const program = std::getenv("LEVIN_PROGRAM");
    REQUIRE(program != nullptr);
    write_bytes(folder_ / "config.json", R"({"seed": 3, "trainer": {"accelerator": "cpu", "num_sanity_val_steps": 0},
      "model": {"class": "ImageClassifier", "net": "mlp", "optimizer": {"class": "SGD", "lr": 0.01}},
      "data": {"class": "SyntheticDigits", "train_size": 256, "val_size": 64, "batch_size": 32}})");
    std::vector<std::string> words = {
        program, "fit", "--config", (folder_ / "config.json").string(), "--default-root-dir", folder_.path().string()};
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    winsize size = {};
    size.ws_row = 24;
    size.ws_col = 200;
    process_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (process_ != 0) return;
    ::unsetenv("NO_COLOR");
    ::setenv("TERM", "xterm", 1);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::signal(SIGINT, SIG_DFL);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ~TerminalFit() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(terminal_);
  }
  TerminalFit(const TerminalFit&) = delete;
  TerminalFit& operator=(const TerminalFit&) = delete;

  /// Reads until the text was shown, or to the end.
  void read_until(const std::string& text) {
    char bytes[4096];
    while (text.empty() || shown_.find(text) == std::string::npos) {
      const ssize_t got = ::read(terminal_, bytes, sizeof(bytes));
      if (got <= 0) return;  // a terminal whose other side is closed fails
      shown_.append(bytes, static_cast<size_t>(got));
    }
  }
  const std::string& read_all() {
    read_until("");
    return shown_;
  }
  /// As Ctrl-C does.
  void interrupt() const { ::kill(process_, SIGINT); }

 private:
  TemporaryFolder folder_;
  int terminal_ = -1;
  pid_t process_ = -1;
  std::string shown_ = {};
};

bool has_colour(const std::string& shown) {
  for (size_t at = shown.find("\x1b["); at != std::string::npos; at = shown.find("\x1b[", at + 1)) {
    const size_t end = shown.find_first_not_of("0123456789;", at + 2);
    if (end != std::string::npos && shown[end] == 'm') return true;
  }
  return false;
}

}  // namespace

TEST_CASE("NO_COLOR holds for all lines, the first included") {
  const std::vector<std::string> flags = {"--max-epochs", "1"};
  CHECK(has_colour(TerminalFit(flags, {}).read_all()));
  CHECK_FALSE(has_colour(TerminalFit(flags, {{"NO_COLOR", "1"}}).read_all()));
}

TEST_CASE("a terminal that knows no control sequences gets none") {
  const std::string shown = TerminalFit({"--max-epochs", "1"}, {{"TERM", "dumb"}}).read_all();
  CHECK(contains(shown, "levin: fit on cpu"));
  CHECK_FALSE(contains(shown, "\x1b"));
}

TEST_CASE("after Ctrl-C the report starts on a new line") {
  TerminalFit fit({"--max-epochs", "100000"}, {{"NO_COLOR", "1"}});
  fit.read_until("Epoch 3/");
  fit.interrupt();
  const std::string& shown = fit.read_all();
  INFO(shown.substr(shown.size() - std::min<size_t>(shown.size(), 2000)));
  for (const char* report : {"levin: stopped by SIGINT", "fit stopped"}) {
    const size_t at = shown.find(report);
    REQUIRE(at != std::string::npos);
    REQUIRE(at > 0);
    CHECK(shown[at - 1] == '\n');
  }
}

TEST_CASE("a command whose output cannot be written fails") {
  const char* const program = std::getenv("LEVIN_PROGRAM");
  REQUIRE(program != nullptr);
  const auto code_of = [&](const std::string& rest) {
    const int status = std::system(("'" + std::string(program) + "' " + rest).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(code_of("--version > /dev/full 2> /dev/null") == 1);
  CHECK(code_of("list models > /dev/full 2> /dev/null") == 1);
  CHECK(code_of("--version > /dev/null") == 0);
  const TemporaryFolder folder;
  CHECK(
      code_of("fit --quiet --model.class ImageClassifier --model.net mlp --model.hidden 4 --data.class SyntheticDigits "
              "--data.train-size 32 --data.val-size 32 --max-epochs 1 --accelerator cpu --default-root-dir '" +
              (folder / "run").string() + "' > /dev/full 2> /dev/null") == 1);
  CHECK(std::filesystem::exists(folder / "run"));  // it has trained
}
