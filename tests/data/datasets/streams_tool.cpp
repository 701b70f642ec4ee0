// For streams_kill_test.py and benchmarks/streams.py: a server of shards, and a reader.
//
//   streams_tool serve FOLDER DELAY_MS
//     Serves the files of FOLDER, each answer so much later; prints the port, and ends when its input does.
//   streams_tool read OPTIONS [RANK WORLD]
//     Prints the targets of an epoch of Tar's training data, one in a line, after a line "ready". OPTIONS are JSON.
//   streams_tool rate OPTIONS STEP_MS
//     Reads an epoch, and sleeps so long after each batch, as a step on a GPU would take; prints its samples, the
//     seconds of all, and the samples and seconds after the first batch.
//   An error is printed, and the exit code is 3.
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/tar.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/data/counting.h"
#include "tests/data/datasets/shard_server.h"

namespace {

using Seconds = std::chrono::duration<double>;

/// Reads a file at once, since a benchmark waits for it.
std::string bytes_of(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void serve(const std::filesystem::path& folder, const std::string& delay_ms) {
  ShardServer server(
      [&](const ShardServer::Request& request) -> ShardServer::Answer {
        const std::filesystem::path file = folder / request.path.substr(1);
        if (!std::filesystem::is_regular_file(file)) return {.status = "404 Not Found"};
        return {.body = bytes_of(file), .version = std::to_string(std::filesystem::file_size(file))};
      },
      std::chrono::milliseconds(std::stoll(delay_ms)));
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

levin::data::Loaders loaders_of(const std::string& options) {
  levin::data::TarOptions given;
  levin::schema_of<levin::data::TarOptions>().set(&given, "data", nlohmann::ordered_json::parse(options));
  levin::data::Tar data(given);
  data.setup(levin::Stage::Fit);
  return data.train_dataloader();
}

void read(const std::string& options, int64_t rank, int64_t world) {
  const levin::data::Loaders loaders = loaders_of(options);
  loaders[0].shard(rank, world);
  std::puts("ready");
  std::fflush(stdout);
  for (const int64_t value : levin::testing::rest_of(loaders[0])) std::printf("%lld\n", static_cast<long long>(value));
}

void measure(const std::string& options, std::chrono::milliseconds step) {
  const levin::data::Loaders loaders = loaders_of(options);
  const auto start = std::chrono::steady_clock::now();
  auto first = start;
  int64_t samples = 0, in_first = 0;
  while (const auto loaded = loaders[0].next()) {
    samples += loaded->samples;
    if (in_first == 0) {
      in_first = samples;
      first = std::chrono::steady_clock::now();
    }
    std::this_thread::sleep_for(step);
  }
  const auto end = std::chrono::steady_clock::now();
  std::printf("%lld %.6f %lld %.6f\n", static_cast<long long>(samples), Seconds(end - start).count(),
              static_cast<long long>(samples - in_first), Seconds(end - first).count());
}

}  // namespace

int main(int count, char** arguments) try {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 3 && words[0] == "serve")
    serve(words[1], words[2]);
  else if (words.size() == 3 && words[0] == "rate")
    measure(words[1], std::chrono::milliseconds(std::stoll(words[2])));
  else if (words.size() == 2 && words[0] == "read")
    read(words[1], 0, 1);
  else if (words.size() == 4 && words[0] == "read")
    read(words[1], std::stoll(words[2]), std::stoll(words[3]));
  else
    return 2;
  return 0;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 3;
}
