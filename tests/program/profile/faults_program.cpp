// The program of the planted faults: `levin`'s commands with faulty_parts.cpp, and `compare A.json B.json`, which
// measures how much faster a fit of B is than one of A, without `levin profile`.
#include <levin/levin.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/run_options.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>

namespace {

using Clock = std::chrono::steady_clock;

double waited_seconds() {
  std::ifstream file("/proc/thread-self/schedstat");
  int64_t ran = 0, waited = 0;
  return file >> ran >> waited ? 1e-9 * static_cast<double>(waited) : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Stopwatch : levin::Callback {
  explicit Stopwatch(int64_t batches_) : batches(batches_) {}
  void on_train_batch_start(levin::Run& run) override {
    constexpr int64_t kWarmup = 5;
    const int64_t seen = run.state().batches_seen;
    if (seen == kWarmup) {
      begin = Clock::now();
      waited = waited_seconds();
      samples = 0;
    }
    if (seen == kWarmup + batches && seconds == 0) {
      seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      rate = static_cast<double>(samples) / seconds;
      own_rate = static_cast<double>(samples) / (seconds - (waited_seconds() - waited));
      run.request_stop("measured");
    }
  }
  void on_train_batch_end(levin::Run& run) override { samples += run.batch().size(); }
  int64_t batches, samples = 0;
  Clock::time_point begin = {};
  double seconds = 0, rate = 0, own_rate = 0, waited = 0;
};

/// Samples per second, and per second in which this thread did not wait for a core.
struct Speed {
  double clock = 0, own = 0;
};

Speed measured(const std::string& file, int64_t batches) {
  const auto line =
      levin::cli::read_command_line(levin::schema_of<levin::cli::RunOptions>(), "fit", {"--config", file});
  levin::cli::ReadOptions options = levin::cli::read_run_options(line.config);
  options.trainer.max_epochs = -1;
  options.trainer.max_steps = 1'000'000;
  options.trainer.num_sanity_val_steps = 0;
  const auto watch = std::make_shared<Stopwatch>(batches);
  options.trainer.callbacks.push_back(watch);
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data.make("data");
  levin::Trainer trainer(options.trainer);
  trainer.fit(module, data);
  return {watch->rate, watch->own_rate};
}

int compare(const std::string& a, const std::string& b, int64_t batches, int64_t pairs) {
  std::vector<double> by_clock, by_own;
  for (int64_t i = 0; i < pairs; ++i) {
    const Speed before = measured(a, batches), with = measured(b, batches), after = measured(a, batches);
    by_clock.push_back(with.clock / std::sqrt(before.clock * after.clock));
    by_own.push_back(with.own / std::sqrt(before.own * after.own));
  }
  std::cout << median(by_clock) << " " << median(by_own) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 5 && words[0] == "compare")
    return compare(words[1], words[2], std::stoll(words[3]), std::stoll(words[4]));
  return levin::cli::main(argc, argv);
}
