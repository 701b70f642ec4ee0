// Reads state files and writes what it read: `state_file_tool IN OUT IN OUT ...`; a line for each that it refuses.
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>

#include <iostream>

int main(int argc, char** argv) try {
  for (int i = 1; i + 1 < argc; i += 2) {
    try {
      levin::save_state(levin::load_state(argv[i]), argv[i + 1]);
    } catch (const levin::UsageError& error) {
      std::cout << error.what() << std::endl;
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
