// Measures what publishing a module's weights costs the training, against one memcpy of the same bytes:
//
//   benchmark_published_weights [ROUNDS]
//
// In alternation, with a reader that always holds the newest copy and with none, in CPU time of the training thread.
// Set OMP_NUM_THREADS=1: LibTorch copies large tensors by all of its threads.
#include <levin/trainer/session/published_weights.h>
#include <ATen/Functions.h>
#include <time.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/statistics.h"

namespace {

double microseconds_of_thread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double microseconds_of(const auto& work, int64_t times) {
  const double begun = microseconds_of_thread();
  for (int64_t i = 0; i < times; ++i) work();
  return (microseconds_of_thread() - begun) / static_cast<double>(times);
}

/// A module of tensors with as many elements.
struct Weights : torch::nn::Module {
  explicit Weights(const std::vector<int64_t>& elements) {
    for (size_t i = 0; i < elements.size(); ++i)
      register_parameter("weight_" + std::to_string(i), at::randn({elements[i]}));
  }
};

void compare(const char* name, const std::vector<int64_t>& elements, int rounds) {
  const Weights module(elements);
  const std::vector<at::Tensor> from = module.parameters();
  std::vector<at::Tensor> to;
  int64_t bytes = 0;
  for (const at::Tensor& one : from) {
    to.push_back(at::zeros_like(one.detach()));
    bytes += static_cast<int64_t>(one.nbytes());
  }
  const auto copy = [&] {
    for (size_t i = 0; i < from.size(); ++i)
      std::memcpy(to[i].mutable_data_ptr(), from[i].const_data_ptr(), from[i].nbytes());
  };
  const auto publisher = std::make_shared<levin::WeightsPublisher>();
  levin::PublishedWeights held;
  const auto publish = [&] { publisher->publish(module, 1); };
  const auto publish_and_hold = [&] {
    publisher->publish(module, 1);
    held = publisher->newest();
  };
  const int64_t times = std::max<int64_t>(1, (int64_t{1} << 26) / bytes);
  Rounds copies, alone, read;
  for (int round = -2; round < rounds; ++round) {  // the first ones get memory
    const double one = microseconds_of(copy, times), other = microseconds_of(publish, times),
                 third = microseconds_of(publish_and_hold, times);
    if (round < 0) continue;
    copies.values.push_back(one);
    alone.values.push_back(other);
    read.values.push_back(third);
  }
  std::printf("%-28s %11ld bytes: memcpy %10.1f us, publish %10.1f us (%.2fx), with a reader %10.1f us (%.2fx)\n", name,
              bytes, copies.median(), alone.median(), alone.over(copies).median(), read.median(),
              read.over(copies).median());
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 9;
  compare("MLP 784-64-10", {784 * 64, 64, 640, 10}, rounds);
  compare("12 layers of 1,024 x 1,024", std::vector<int64_t>(12, 1 << 20), rounds);
  compare("64 tensors of a million", std::vector<int64_t>(64, 1 << 20), rounds);
}
