// The overhead of DataParallel over two replicas on the CPU, against that of new replicas and threads in each step. The
// overhead is the time beyond the two halves' forward and backward.
//
//   benchmark_data_parallel [ROUNDS]      time of a step, in alternation; medians, and the ratio of the overheads
#include <torch/torch.h>

#include <levin/modules/parallel/replicas/data_parallel.h>
#include <torch/csrc/autograd/variable.h>

#include <ATen/ThreadLocalState.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "benchmarks/statistics.h"

namespace {

struct MlpImpl : torch::nn::Cloneable<MlpImpl> {
  MlpImpl(int64_t in, int64_t width, int64_t depth) : in_(in), width_(width), depth_(depth) { reset(); }
  void reset() override {
    layers = register_module("layers", torch::nn::Sequential());
    for (int64_t i = 0; i < depth_; ++i) layers->push_back(torch::nn::Linear(i == 0 ? in_ : width_, width_));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : *layers) x = torch::tanh(layer.forward(x));
    return x;
  }
  torch::nn::Sequential layers{nullptr};

 private:
  int64_t in_, width_, depth_;
};
TORCH_MODULE(Mlp);

struct Case {
  const char* name;
  int64_t in, width, depth, batch, steps;
};

const std::vector<torch::Device>& devices() {
  static const std::vector<torch::Device> two(2, torch::kCPU);
  return two;
}

/// The work that any data parallelism needs: each half runs in its own module, on persistent threads.
torch::Tensor halves(std::vector<Mlp>& nets, const torch::Tensor& x) {
  const auto parts = x.chunk(2);
  std::vector<torch::Tensor> outputs(2);
  levin::parallel::run_replicas(devices(), [&](size_t i) { outputs[i] = nets[i](parts[i]); });
  return torch::cat(outputs);
}

/// Works as torch::nn::parallel::data_parallel, which compiles only for CUDA.
torch::Tensor clone_each_step(Mlp& net, const torch::Tensor& x) {
  const auto parts = x.chunk(2);
  std::vector<std::shared_ptr<MlpImpl>> replicas;
  for (size_t i = 0; i < 2; ++i) {
    auto replica = std::dynamic_pointer_cast<MlpImpl>(net->clone(devices()[i]));
    auto copies = replica->named_parameters();
    for (const auto& item : net->named_parameters()) {
      const auto copy = item.value().to(devices()[i], /*non_blocking=*/true, /*copy=*/true);
      copies[item.key()].set_data(copy.detach());
      torch::autograd::impl::set_gradient_edge(copies[item.key()], torch::autograd::impl::gradient_edge(copy));
    }
    replicas.push_back(std::move(replica));
  }
  std::vector<torch::Tensor> outputs(2);
  const at::ThreadLocalState state;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      const at::ThreadLocalStateGuard guard(state);
      outputs[i] = replicas[i]->forward(parts[i]);
    });
  for (std::thread& thread : threads) thread.join();
  return torch::cat(outputs);
}

/// Returns the microseconds of a step with this forward.
template <class Forward>
double time_of(const Case& which, std::vector<Mlp>& nets, const torch::Tensor& x, const Forward& forward) {
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < which.steps; ++step) {
    for (Mlp& net : nets) net->zero_grad();
    forward(x).square().mean().backward();
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count() / static_cast<double>(which.steps);
}

void measure(const Case& which, int rounds) {
  torch::manual_seed(0);
  std::vector<Mlp> nets{Mlp(which.in, which.width, which.depth), Mlp(which.in, which.width, which.depth)};
  levin::parallel::DataParallel shared(nets[0], {.devices = devices()});
  levin::parallel::DataParallel copied(nets[0], {.devices = devices(), .share_memory = false});
  const auto x = torch::randn({which.batch, which.in});
  Rounds work, by_levin, by_copies, by_clones;
  for (int round = -1; round < rounds; ++round) {
    const double times[] = {time_of(which, nets, x, [&](const auto& t) { return halves(nets, t); }),
                            time_of(which, nets, x, [&](const auto& t) { return shared(t); }),
                            time_of(which, nets, x, [&](const auto& t) { return copied(t); }),
                            time_of(which, nets, x, [&](const auto& t) { return clone_each_step(nets[0], t); })};
    if (round < 0) continue;
    work.values.push_back(times[0]);
    by_levin.values.push_back(times[1]);
    by_copies.values.push_back(times[2]);
    by_clones.values.push_back(times[3]);
  }
  const auto overhead = [&](const Rounds& of) { return of.median() - work.median(); };
  std::printf("%-6s the two halves alone %9.1f us a step (%.1f to %.1f)\n", which.name, work.median(), work.least(),
              work.most());
  const auto print = [&](const char* who, const Rounds& of) {
    std::printf("       %-20s %9.1f us (%.1f to %.1f): overhead %8.1f us", who, of.median(), of.least(), of.most(),
                overhead(of));
    if (overhead(of) > 0) {
      std::printf(", clones' is %.1f times that\n", overhead(by_clones) / overhead(of));
    } else {
      std::printf(", less than the noise\n");
    }
  };
  print("DataParallel", by_levin);
  print("with copied memory", by_copies);
  print("clones in each step", by_clones);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  measure({"small", 64, 64, 3, 32, 200}, rounds);
  measure({"large", 1024, 1024, 12, 16, 10}, rounds);
}
