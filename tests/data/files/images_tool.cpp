// For images_python_test.py: reads images that Python wrote.
//
//   images_tool FOLDER OUT   OUT/NAME.KIND.npy for each FOLDER/NAME: bytes, gray, numbers and indices, [channels,
//   height,
//                            width]; what is refused is printed as NAME KIND: message
#include <levin/core/system/error.h>
#include <levin/data/files/image_file.h>
#include <levin/data/files/npy_file.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

int main(int argc, char** argv) try {
  namespace fs = std::filesystem;
  using namespace levin::data;
  if (argc != 3) return 2;
  const std::vector<std::pair<std::string, ImageOptions>> kinds = {
      {"bytes", {}},
      {"gray", {.channels = 1}},
      {"numbers", {.values = PixelValues::Numbers}},
      {"indices", {.values = PixelValues::Indices}},
  };
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    const std::string name = entry.path().filename().string();
    for (const auto& [kind, options] : kinds) {
      try {
        write_npy(fs::path(argv[2]) / (name + "." + kind + ".npy"), read_image(entry.path(), options).contiguous());
      } catch (const levin::UsageError& error) {
        std::printf("%s %s: %s\n", name.c_str(), kind.c_str(), error.what());
      }
    }
  }
  return 0;
} catch (const levin::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
