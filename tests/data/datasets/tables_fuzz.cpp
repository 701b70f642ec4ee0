// Reads damaged copies of a file as a data set of tables. Only UsageError is allowed, and is caught: a crash, another
// exception or a hang is a fault. Lists are in a field `ids`, but for HDF5, which has none.
//
//   tables_fuzz CLASS FILE COUNT SEED
//     Prints how many copies were refused. CLASS is Parquet, Hdf5 or JsonLines. The copy that is read lies in the
//     current folder, as damaged.bin, so that it is there after a crash.
#include <levin/core/system/error.h>
#include <levin/data/datasets/hdf5.h>
#include <levin/data/datasets/json_lines.h>
#include <levin/data/datasets/parquet.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/damaged.h"

/// In place of the C library's function. A damaged file sends HDF5's library in a circle now and then, and levin ends
/// the child process that reads it after some seconds of the processor; here after a tenth of one, by another signal,
/// so that a million files take hours and not days. A whole file takes 2 ms.
extern "C" int setrlimit(__rlimit_resource_t resource, const rlimit* limit) noexcept {
  if (resource != RLIMIT_CPU) return prlimit(0, static_cast<__rlimit_resource>(resource), limit, nullptr);
  constexpr itimerval kMost = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
  return setitimer(ITIMER_PROF, &kMost, nullptr);
}

namespace {

template <class Module>
void read_all(const std::string& file, bool has_lists) {
  typename Module::Options options;
  options.table.files = {file};
  options.table.columns.missing = "zero";
  if (has_lists) options.table.columns.field_options.pad = {{"ids", 0}};
  options.batch_size = 7;
  options.shuffle = false;
  Module module(options);
  module.setup(levin::Stage::Fit);
  const levin::data::Loaders loaders = module.train_dataloader();
  constexpr int kMostBatches = 50;
  for (int i = 0; i < kMostBatches && loaders[0].next(); ++i) {
  }
}

void read_as(const std::string& name, const std::string& file) {
  if (name == "Parquet") return read_all<levin::data::Parquet>(file, true);
  if (name == "Hdf5") return read_all<levin::data::Hdf5>(file, false);
  return read_all<levin::data::JsonLines>(file, true);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::ifstream in(argv[2], std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  read_as(argv[1], argv[2]);  // the whole file can be read
  constexpr unsigned kMostSeconds = 120;
  int64_t refused = 0;
  const int64_t count = std::stoll(argv[3]);
  for (int64_t i = 0; i < count; ++i) {
    std::ofstream("damaged.bin", std::ios::binary) << levin::testing::damaged(whole, std::stoull(argv[4]), i);
    alarm(kMostSeconds);
    try {
      read_as(argv[1], "damaged.bin");
    } catch (const levin::UsageError&) {
      ++refused;
    }
  }
  std::printf("%lld of %lld refused\n", static_cast<long long>(refused), static_cast<long long>(count));
  return 0;
}
