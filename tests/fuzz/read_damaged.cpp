// Passes damaged copies of the seeds of the fuzzed file formats to their readers, many a second and without a
// compiler's help, unlike libFuzzer. A crash, a broken promise or a hang is a fault.
//
//   read_damaged COUNT SEED FORMAT...
//     FORMATs are png, jpeg, tiff, webp, idx, npy, csv and tar. Prints how many copies of each were read. The number of
//     a copy that is at fault is printed behind the error; after a crash it is one of those from the last line on.
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fuzz/damaged.h"
#include "tests/fuzz/fuzz.h"

namespace {

struct Format {
  const std::vector<std::string>& (*seeds)();
  void (*read)(const std::string&);
};

const std::map<std::string, Format>& formats() {
  using namespace levin::testing;  // NOLINT: their names are listed
  static const std::map<std::string, Format> all = {
      {"png", {png_seeds, fuzz_png}},    {"jpeg", {jpeg_seeds, fuzz_jpeg}}, {"tiff", {tiff_seeds, fuzz_tiff}},
      {"webp", {webp_seeds, fuzz_webp}}, {"idx", {idx_seeds, fuzz_idx}},    {"npy", {npy_seeds, fuzz_npy}},
      {"csv", {csv_seeds, fuzz_csv}},    {"tar", {tar_seeds, fuzz_tar}}};
  return all;
}

void read_copies(const std::string& name, int64_t count, uint64_t seed) {
  const Format& format = formats().at(name);
  const int64_t seeds = std::ssize(format.seeds());
  constexpr unsigned kMostSeconds = 60;
  constexpr int64_t kShown = 10000;
  for (int64_t copy = 0; copy < count; ++copy) {
    if (copy % kShown == 0) std::cout << name << ": copy " << copy << std::endl;
    alarm(kMostSeconds);
    try {
      format.read(levin::testing::damaged(format.seeds()[static_cast<size_t>(copy % seeds)], seed, copy));
    } catch (const std::exception& error) {
      throw std::runtime_error(name + ": copy " + std::to_string(copy) + ": " + error.what());
    }
  }
  std::cout << name << ": " << count << " copies read" << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) return 2;
  for (int i = 3; i < argc; ++i) read_copies(argv[i], std::stoll(argv[1]), std::stoull(argv[2]));
  return 0;
} catch (const std::exception& error) {
  std::cout << error.what() << std::endl;
  return 1;
}
