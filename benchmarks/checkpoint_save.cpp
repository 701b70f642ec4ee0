// Measures how long saving a large state blocks the training, and how fast the file is written:
//
//   benchmark_checkpoint_save [FOLDER] [MEGABYTES] [ROUNDS]
//
// Peers, in alternation: a memory copy of the same tensors into existing memory, and a plain write() and fsync() of as
// many bytes in the same folder.
#include <ATen/Functions.h>
#include <fcntl.h>
#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "benchmarks/statistics.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_of(const auto& work) {
  const auto begun = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

/// Makes a state of 64 tensors, like the layers of a network.
levin::State state_of(int64_t megabytes) {
  levin::State tensors = levin::State::dict();
  for (int64_t i = 0; i < 64; ++i)
    tensors["layer." + std::to_string(i) + ".weight"] = at::randn({megabytes * (1 << 20) / 64 / 4});
  return levin::State::dict({{"state_dict", tensors}});
}

void copy_into(const levin::State& from, const levin::State& to) {
  for (const auto& [key, tensor] : from.at("state_dict").to_dict())
    to.at("state_dict").at(key).to_tensor().copy_(tensor.to_tensor());
}

void plain_write(const levin::State& state, const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666);
  for (const auto& [key, tensor] : state.at("state_dict").to_dict()) {
    const auto* next = static_cast<const char*>(tensor.to_tensor().const_data_ptr());
    for (size_t left = tensor.to_tensor().nbytes(); left > 0;) {
      const ssize_t written = ::write(descriptor, next, left);
      if (written < 0) std::perror("write");
      if (written < 0) return;
      next += written;
      left -= static_cast<size_t>(written);
    }
  }
  ::fsync(descriptor);
  ::close(descriptor);
}

void show(const char* what, const Rounds& rounds) {
  std::printf("%-44s %8.1f ms  (%.1f to %.1f)\n", what, rounds.median(), rounds.least(), rounds.most());
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
  const int64_t megabytes = argc > 2 ? std::stoll(argv[2]) : 1024;
  const int rounds = argc > 3 ? std::stoi(argv[3]) : 5;
  const levin::State state = state_of(megabytes), other = state_of(megabytes);
  levin::CheckpointWriter writer;
  const std::filesystem::path ours = folder / "levin.ckpt", plain = folder / "plain.bin";
  writer.save(state, {.path = ours});  // allocates the buffers
  writer.wait();
  Rounds copy, held, written, plain_written;
  for (int round = 0; round < rounds; ++round) {
    copy.values.push_back(milliseconds_of([&] { copy_into(state, other); }));
    double of_save = 0;
    written.values.push_back(milliseconds_of([&] {
      of_save = milliseconds_of([&] { writer.save(state, {.path = ours}); });
      writer.wait();
    }));
    held.values.push_back(of_save);
    written.values.back() -= of_save;
    plain_written.values.push_back(milliseconds_of([&] { plain_write(state, plain); }));
    std::filesystem::remove(plain);
  }
  std::printf("%lld MB in 64 tensors\n", static_cast<long long>(megabytes));
  show("one memory copy", copy);
  show("save() holds the training for", held);
  show("write() and fsync() of as many bytes", plain_written);
  show("the checkpoint's file, by its thread", written);
  std::printf("rate of writing, of the plain one: %.2f\n", plain_written.over(written).median());
  std::filesystem::remove(ours);
}
