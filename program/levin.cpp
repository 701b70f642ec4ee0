#include <levin/program/main.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[maybe_unused]] void end_process(int code, void*) {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  // What is registered later runs before it. What would run after it are the destructors of LibTorch's tables of
  // operators, which take a third of the time of `levin --version` and do nothing for a process that ends.
#ifndef __SANITIZE_ADDRESS__  // whose search for leaks would come after it
  ::on_exit(end_process, nullptr);
#endif
  return levin::cli::main(argc, argv);
}
