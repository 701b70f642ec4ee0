#include <levin/program/main.h>
#include <c10/util/Logging.h>
#include <levin/core/options/class_list.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>
#include <levin/program/cli/installed_prefix.h>
#include <levin/program/cli/load_plugin.h>
#include <levin/program/commands/commands.h>
#include <levin/trainer/launch/supervisor.h>
#include <levin/trainer/tuner/finders.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

namespace levin::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// Takes `--plugin FILE` from the beginning of the arguments, as often as it stands there, and loads the files.
void load_plugins(std::vector<std::string>& arguments) {
  while (!arguments.empty() && arguments[0] == "--plugin") {
    if (arguments.size() == 1) throw UsageError("--plugin: missing; name the file of the plugin");
    load_plugin(arguments[1]);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
}

int run(const Words& words) {
  raise_duplicate_registrations();
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::cout << program_help();
    return words.empty() ? kUsage : 0;
  }
  if (words[0] == "--version") {
    std::cout << version_text();
    return 0;
  }
  if (words[0] == "--cmake-prefix") {
    std::cout << require_installed_prefix().string() << "\n";
    return 0;
  }
  return dispatch(words);
}

/// Throws if standard output could not take what was written, as on a full disk. A reader that closed its pipe has
/// ended the process before, by SIGPIPE.
void check_output_was_written() {
  errno = 0;
  std::cout.flush();
  if (std::cout) return;
  const char* why = errno != 0 ? std::strerror(errno) : "a write failed";
  throw Error("standard output is incomplete: ", why, "; what the command did besides is done");
}

/// Says what the standard library's own exceptions leave out.
std::string told(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return "out of memory; smaller batches, fewer workers or a smaller model need less";
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again)
    return std::string(
               "the system starts no more processes and threads for this user, container or machine (ulimit -u, "
               "pids.max): ") +
           error.what();
  // "filesystem error: cannot rename: No space left on device [from] [to]"
  constexpr std::string_view kKind = "filesystem error: ";
  std::string text = message_of(error);
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr && text.starts_with(kKind))
    text.erase(0, kKind.size());
  return text;
}

int fail(const std::exception& error, int code) {
  std::cout.flush();
  std::cerr << "levin: error: " << told(error) << std::endl;
  report_failure(error);
  return code;
}

std::terminate_handler g_terminate = nullptr;

/// Says why a library ends the process, if it is likely: LibTorch's communication does so where no thread can be
/// started.
[[noreturn]] void explain_end() {
  if (!can_start_threads(1))
    std::fputs(
        "levin: error: this process ends, since the system starts no more threads for this user, container or machine "
        "(ulimit -u, pids.max); checkpoints that were written are whole, and `--ckpt-path last` resumes from the "
        "newest\n",
        stderr);
  if (g_terminate != nullptr) g_terminate();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  // c10d warns with twenty frames of each connection that is tried again; levin's own errors say what failed in the
  // end.
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_ERROR;
  g_terminate = std::set_terminate(explain_end);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond ulimit -f is an error of the write
  try {
    register_finders();
    std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    load_plugins(arguments);
    const int code = run(arguments);
    check_output_was_written();
    return code;
  } catch (const UsageError& error) {
    return fail(error, kUsage);
  } catch (const std::exception& error) {
    return fail(error, kFailed);
  } catch (...) {
    return fail(Error("an exception that is no std::exception"), kFailed);
  }
}

}  // namespace levin::cli
