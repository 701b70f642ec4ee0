// Raw tensors from tar files (.npy of 151 and of 602 KB, batches of 32) against a bare sequential read() of the same
// files, in alternation: in blocks of 1 MiB into one buffer, which stays in a core's cache, and into memory of a
// batch's size.
//
//   benchmark_data_tar [ROUNDS] [cold]    bytes per second of each, and the ratios: median and spread; `cold` asks the
//                                         system to forget the files before each reading
#include <levin/data/datasets/tar.h>
#include <fcntl.h>
#include <levin/core/system/private_folder.h>
#include <levin/data/data_loader.h>
#include <levin/data/files/npy_header.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int64_t kShards = 4, kBatch = 32;

struct Samples {
  int64_t side = 0, per_shard = 0;
  std::vector<int64_t> shape() const { return {3, side, side}; }
  size_t bytes() const { return static_cast<size_t>(3 * side * side) * sizeof(float); }
};

using Clock = std::chrono::steady_clock;

/// Returns the header of a member (ustar).
std::string tar_header(const std::string& name, size_t bytes) {
  char text[16] = {};
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  std::snprintf(text, sizeof(text), "%011zo", bytes);
  header.replace(124, 11, text);
  header.replace(136, 11, "00000000000");
  header.replace(148, 8, std::string(8, ' '));
  header[156] = '0';
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(text, sizeof(text), "%06o", sum);
  header.replace(148, 7, text, 7);
  return header;
}

void write_shard(const std::filesystem::path& path, int64_t shard, const Samples& samples) {
  std::ofstream file(path, std::ios::binary);
  const std::string array = levin::data::npy_header(at::kFloat, samples.shape()) + std::string(samples.bytes(), '\1');
  const auto write = [&](const std::string& name, const std::string& bytes) {
    file << tar_header(name, bytes.size()) << bytes << std::string((512 - bytes.size() % 512) % 512, '\0');
  };
  for (int64_t i = 0; i < samples.per_shard; ++i) {
    const std::string key = std::to_string(shard * samples.per_shard + i);
    write(key + ".npy", array);
    write(key + ".cls", std::to_string(i % 10));
  }
  file << std::string(1024, '\0');
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number(::open(path.c_str(), O_RDONLY)) {
    if (number < 0) throw std::runtime_error(path + ": cannot be opened");
  }
  ~Descriptor() { ::close(number); }
  const int number;
};

void forget(const std::vector<std::string>& files) {
  for (const std::string& name : files) {
    const Descriptor file(name);
    ::fdatasync(file.number);
    ::posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED);
  }
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double bare_read(const std::vector<std::string>& files, size_t memory) {
  constexpr size_t kBlock = 1 << 20;
  std::vector<char> buffer(memory);
  const auto begin = Clock::now();
  size_t at = 0;
  for (const std::string& name : files) {
    const Descriptor file(name);
    while (::read(file.number, buffer.data() + at, kBlock) > 0) at = at + 2 * kBlock > memory ? 0 : at + kBlock;
  }
  return seconds_since(begin);
}

double loader(const std::vector<std::string>& files, int64_t num_workers, int64_t expected) {
  const auto data = std::make_shared<const levin::data::TarDataset>(files);
  levin::data::DataLoader loader(data, {.batch_size = kBatch, .num_workers = num_workers});
  const auto begin = Clock::now();
  int64_t samples = 0;
  while (auto loaded = loader.next()) samples += loaded->samples;
  const double seconds = seconds_since(begin);
  if (samples != expected) throw std::runtime_error("samples are missing");
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_ratio(const char* what, const std::vector<double>& ratios) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%s %.2f (%.2f to %.2f)", what, median(ratios), *least, *most);
}

void compare(const Samples& samples, int rounds, bool cold) {
  const levin::PrivateFolder folder("benchmark_tar");
  std::vector<std::string> files;
  double bytes = 0;
  for (int64_t shard = 0; shard < kShards; ++shard) {
    files.push_back((folder / (std::to_string(shard) + ".tar")).string());
    write_shard(files.back(), shard, samples);
    bytes += static_cast<double>(std::filesystem::file_size(files.back()));
  }
  const auto timed = [&](const auto& read) {
    if (cold) forget(files);
    return read();
  };
  for (const int64_t num_workers : {0, 1, 2}) {
    std::vector<double> speeds, small_speeds, small_ratios, large_ratios;
    for (int round = 0; round <= rounds; ++round) {
      const double small = timed([&] { return bare_read(files, 1 << 20); });
      const double loaded = timed([&] { return loader(files, num_workers, kShards * samples.per_shard); });
      const double large = timed([&] { return bare_read(files, kBatch * samples.bytes()); });
      if (round == 0) continue;  // the first round fills caches
      small_speeds.push_back(bytes / small / 1e9);
      speeds.push_back(bytes / loaded / 1e9);
      small_ratios.push_back(small / loaded);
      large_ratios.push_back(large / loaded);
    }
    std::printf("%zu KB, num_workers %d: read() %.2f GB/s, TarDataset %.2f GB/s, ", samples.bytes() / 1000,
                static_cast<int>(num_workers), median(small_speeds), median(speeds));
    print_ratio("ratio", small_ratios);
    print_ratio(", to read() into memory of a batch's size", large_ratios);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 11;
  const bool cold = argc > 2 && std::string(argv[2]) == "cold";
  compare({.side = 112, .per_shard = 500}, rounds, cold);
  compare({.side = 224, .per_shard = 125}, rounds, cold);
}
