// Loads a state file once per line on standard input, and prints the seconds that it took.
// benchmarks/checkpoint_load.py makes the file, and measures PyTorch in alternation.
//
//   benchmark_checkpoint_load load FILE LAYERS WIDTH    into the parameters of a Sequential of Linear layers
//   benchmark_checkpoint_load unverified FILE LAYERS WIDTH    the same without comparing checksums
//   benchmark_checkpoint_load list FILE    names and sizes alone
#include <levin/levin.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

void answer(const std::function<void()>& load) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = Clock::now();
    load();
    std::printf("%.6f\n", std::chrono::duration<double>(Clock::now() - begin).count());
    std::fflush(stdout);
  }
}

torch::nn::Sequential make_net(int64_t layers, int64_t width) {
  torch::nn::Sequential net;
  for (int64_t i = 0; i < layers; ++i) net->push_back(torch::nn::Linear(width, width));
  return net;
}

int64_t count_elements(const levin::State& state) {
  int64_t elements = 0;
  for (const auto& [name, value] : state.to_dict()) elements += value.to_tensor().numel();
  return elements;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "", file = argc > 2 ? argv[2] : "";
  if (what == "list") {
    answer([&] {
      if (count_elements(levin::load_state(file, {.verify_checksums = false})) == 0) std::exit(1);
    });
    return 0;
  }
  if (argc != 5 || (what != "load" && what != "unverified")) {
    std::fprintf(stderr, "usage: benchmark_checkpoint_load load|unverified FILE LAYERS WIDTH, or list FILE\n");
    return 2;
  }
  torch::nn::Sequential net = make_net(std::stoll(argv[3]), std::stoll(argv[4]));
  const bool verify = what == "load";
  answer([&] { levin::load_module_state_dict(*net, levin::load_state(file, {.verify_checksums = verify})); });
  return 0;
}
