#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace levin {

/// What a process is started with.
struct ProcessStart {
  /// The command line; empty: that of this process.
  std::vector<std::string> words = {};
  /// The program; empty: the first of `words`, or this process's program if there are none.
  std::string program = {};
  /// Variables that take the place of this process's own.
  std::map<std::string, std::string> variables = {};
  /// The file for standard output and errors; empty: those of this process.
  std::filesystem::path output = {};
  bool appends = false;            ///< to `output`, which otherwise begins empty
  std::vector<int> cores = {};     ///< the cores that it may run on; empty: those of this process
  std::string called = "process";  ///< for errors
};

/// Starts a process in a group of its own. The system kills it if this process ends, however it ends. Returns its id.
/// Throws levin::UsageError if the output cannot be written, levin::Error if the system cannot start one.
::pid_t start_process(const ProcessStart& start);

}  // namespace levin
