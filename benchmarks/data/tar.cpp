// Raw tensors out of tar files (.npy of 150 KB each) against a bare sequential read() of the same files, in turn.
//
//   benchmark_data_tar [ROUNDS] [cold]    bytes per second of each, and the ratio of each pair: median and spread;
//   `cold`
//                                         asks the system to forget the files before each reading
#include <levin/data/datasets/tar.h>
#include <fcntl.h>
#include <levin/data/data_loader.h>
#include <levin/data/npy_header.h>
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

constexpr int64_t kShards = 4, kSamplesPerShard = 500, kBatch = 32;
const std::vector<int64_t> kShape = {3, 112, 112};
constexpr size_t kBytes = 3 * 112 * 112 * sizeof(float);

using Clock = std::chrono::steady_clock;

/// The header of a member (ustar).
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

void write_shard(const std::filesystem::path& path, int64_t shard) {
  std::ofstream file(path, std::ios::binary);
  const std::string array = levin::data::npy_header(at::kFloat, kShape) + std::string(kBytes, '\1');
  const auto write = [&](const std::string& name, const std::string& bytes) {
    file << tar_header(name, bytes.size()) << bytes << std::string((512 - bytes.size() % 512) % 512, '\0');
  };
  for (int64_t i = 0; i < kSamplesPerShard; ++i) {
    const std::string key = std::to_string(shard * kSamplesPerShard + i);
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

double bare_read(const std::vector<std::string>& files) {
  std::vector<char> buffer(1 << 20);
  const auto begin = Clock::now();
  for (const std::string& name : files) {
    const Descriptor file(name);
    while (::read(file.number, buffer.data(), buffer.size()) > 0) {
    }
  }
  return seconds_since(begin);
}

double loader(const std::vector<std::string>& files, int64_t num_workers) {
  const auto data = std::make_shared<const levin::data::TarDataset>(files);
  levin::data::DataLoader loader(data, {.batch_size = kBatch, .num_workers = num_workers});
  const auto begin = Clock::now();
  int64_t samples = 0;
  while (auto loaded = loader.next()) samples += loaded->samples;
  const double seconds = seconds_since(begin);
  if (samples != kShards * kSamplesPerShard) throw std::runtime_error("samples are missing");
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 11;
  const bool cold = argc > 2 && std::string(argv[2]) == "cold";
  const auto folder = std::filesystem::temp_directory_path() / ("levin_benchmark_tar_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::vector<std::string> files;
  double bytes = 0;
  for (int64_t shard = 0; shard < kShards; ++shard) {
    files.push_back((folder / (std::to_string(shard) + ".tar")).string());
    write_shard(files.back(), shard);
    bytes += static_cast<double>(std::filesystem::file_size(files.back()));
  }
  for (const int64_t num_workers : {0, 1, 2}) {
    std::vector<double> read_speeds, loader_speeds, ratios;
    for (int round = 0; round <= rounds; ++round) {
      if (cold) forget(files);
      const double bare = bare_read(files);
      if (cold) forget(files);
      const double loaded = loader(files, num_workers);
      if (round == 0) continue;  // the first fills caches
      read_speeds.push_back(bytes / bare / 1e9);
      loader_speeds.push_back(bytes / loaded / 1e9);
      ratios.push_back(bare / loaded);
    }
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("num_workers %d: read() %.2f GB/s, TarDataset %.2f GB/s, ratio %.2f (%.2f to %.2f)\n",
                static_cast<int>(num_workers), median(read_speeds), median(loader_speeds), median(ratios), *least,
                *most);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
