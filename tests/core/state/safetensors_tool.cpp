// Reads safetensors files and writes what it read: `safetensors_tool IN OUT IN OUT ...`; a line for each that it
// refuses.
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>

#include <iostream>

int main(int argc, char** argv) try {
  for (int i = 1; i + 1 < argc; i += 2) {
    try {
      levin::SafetensorsMetadata metadata;
      const levin::State state = levin::load_safetensors(argv[i], &metadata);
      levin::save_safetensors(state, argv[i + 1], metadata);
    } catch (const levin::UsageError& error) {
      std::cout << error.what() << std::endl;
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
