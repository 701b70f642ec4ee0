#pragma once
#include <levin/program/main.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace levin::testing {

/// The exit code and output of `levin ARGUMENTS`.
struct ProgramRun {
  int code = -1;
  std::string out = {}, err = {};
};

/// Calls levin::cli::main in this process and captures its output.
inline ProgramRun run_program(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "levin");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::ostringstream out, err;
  std::streambuf* const out_before = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const err_before = std::cerr.rdbuf(err.rdbuf());
  ProgramRun run;
  run.code = cli::main(static_cast<int>(arguments.size()), argv.data());
  std::cout.rdbuf(out_before);
  std::cerr.rdbuf(err_before);
  run.out = out.str();
  run.err = err.str();
  return run;
}

}  // namespace levin::testing
