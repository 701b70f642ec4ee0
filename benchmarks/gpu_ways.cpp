#include "benchmarks/gpu_ways.h"

#include <levin/core/device/gpu_discovery.h>
#include <levin/core/system/memory_use.h>
#include <levin/core/system/private_folder.h>
#include <torch/cuda.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

#include "benchmarks/statistics.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Measures the steps after the warm-up, in which libraries choose kernels and graphs are captured.
struct Stopwatch : levin::Callback {
  void on_train_batch_start(levin::Run& run) override {
    if (run.state().batches_seen != warm_up()) return;
    wait_for_device();
    begin = Clock::now();
  }
  void on_train_end(levin::Run&) override {
    wait_for_device();
    end = Clock::now();
  }
  double microseconds_per_step(int64_t steps) const {
    return std::chrono::duration<double, std::micro>(end - begin).count() / static_cast<double>(steps);
  }
  Clock::time_point begin, end;
};

/// The peak memory since construction, beyond the memory in use then.
class PeakMemory {
 public:
  PeakMemory() { levin::reset_peak_memory(device()); }
  double megabytes() const {
    const auto memory = levin::device_memory(device());
    return memory ? static_cast<double>(memory->allocated_peak - before_) / 1e6 : 0;
  }

 private:
  static int64_t allocated() {
    const auto memory = levin::device_memory(device());
    return memory ? memory->allocated : 0;
  }
  int64_t before_ = allocated();
};

}  // namespace

bool has_gpu() { return levin::visible_gpus().count > 0; }
torch::Device device() { return has_gpu() ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU); }
void wait_for_device() {
  if (has_gpu()) torch::cuda::synchronize(0);
}
int64_t warm_up() { return has_gpu() ? 20 : 2; }

Figures fit(const TrainingCase& which, const Batches& batches, int64_t steps, const How& how) {
  const PeakMemory peak;
  torch::manual_seed(0);
  BenchmarkModule module(which, /*levins_optimizer_=*/true);
  const auto stopwatch = std::make_shared<Stopwatch>();
  const levin::PrivateFolder folder("benchmark");
  levin::TrainerOptions options;
  options.callbacks = {stopwatch};
  options.max_epochs = 1;
  options.accelerator = has_gpu() ? "gpu" : "cpu";
  options.devices = 1;
  options.strategy = how.strategy;
  options.precision = how.precision;
  options.memory_format = how.memory_format;
  options.cuda_graphs = how.cuda_graphs;
  if (how.float32_matmul_precision != nullptr) options.float32_matmul_precision = how.float32_matmul_precision;
  options.enable_progress_bar = false;
  options.enable_model_summary = false;
  options.enable_checkpointing = false;
  options.quiet = true;
  options.default_root_dir = folder.path().string();
  Batches all;
  for (int64_t i = 0; i < warm_up() + steps; ++i) all.push_back(batches[static_cast<size_t>(i) % batches.size()]);
  levin::Trainer(options).fit(module, all);
  return {stopwatch->microseconds_per_step(steps), peak.megabytes()};
}

Figures hand(const TrainingCase& which, const Batches& batches, int64_t steps) {
  const PeakMemory peak;
  torch::manual_seed(0);
  BenchmarkModule module(which, /*levins_optimizer_=*/false);
  module.to(device());
  module.train();
  const auto optimizer = module.optimizer();
  Clock::time_point begin;
  for (int64_t step = 0; step < warm_up() + steps; ++step) {
    if (step == warm_up()) {
      wait_for_device();
      begin = Clock::now();
    }
    const levin::Batch& batch = batches[static_cast<size_t>(step) % batches.size()];
    optimizer->zero_grad();
    const auto loss = module.loss(batch.input(), batch.target());
    loss.backward();
    optimizer->step();
    if ((step + 1) % 50 == 0) loss.item<double>();
  }
  wait_for_device();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  return {us / static_cast<double>(steps), peak.megabytes()};
}

Figures copies_alone(const Batches& batches, int64_t steps) {
  Clock::time_point begin;
  for (int64_t step = 0; step < warm_up() + steps; ++step) {
    if (step == warm_up()) {
      wait_for_device();
      begin = Clock::now();
    }
    batches[static_cast<size_t>(step) % batches.size()].to(device(), /*non_blocking=*/true);
  }
  wait_for_device();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  return {us / static_cast<double>(steps), 0};
}

std::vector<double> compare(const std::string& title, int rounds, const std::vector<Way>& ways) {
  std::map<std::string, Rounds> times, peaks;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (const Way& way : ways) {
      const Figures figures = way.run();
      if (round < 0) continue;
      times[way.name].values.push_back(figures.us_per_step);
      peaks[way.name].values.push_back(figures.peak_mb);
    }
  }
  std::printf("\n%s, %s, %d rounds in turn\n\n", title.c_str(), device().str().c_str(), rounds);
  std::printf("| | us a step, median | ratio | from | to | peak MB |\n|---|---|---|---|---|---|\n");
  std::vector<double> medians;
  for (const Way& way : ways) {
    const Rounds ratios = times[way.name].over(times[ways[0].name]);
    medians.push_back(times[way.name].median());
    std::printf("| %s | %.1f | %.3f | %.3f | %.3f | %s |\n", way.name.c_str(), medians.back(), ratios.median(),
                ratios.least(), ratios.most(),
                has_gpu() ? std::to_string(static_cast<int64_t>(peaks[way.name].median())).c_str() : "");
  }
  std::fflush(stdout);
  return medians;
}
