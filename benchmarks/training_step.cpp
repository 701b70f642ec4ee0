// A training step under Trainer::fit against a hand-written loop, in one process, with the same order of samples.
//
//   benchmark_training_step CASE [ROUNDS]       times in alternation, and ratios to the loop: median and spread
//   benchmark_training_step CASE precision [ROUNDS]  the same for levin in 32-true and in bf16-mixed
//   benchmark_training_step CASE session [ROUNDS]    the same for fit and Session::step
//   benchmark_training_step CASE profiler [ROUNDS]   the same for levin with each profiler, and without
//   benchmark_training_step CASE only WHO STEPS one variant alone, as JSON with the peak memory; also for callgrind
//   benchmark_training_step CASE phases STEPS   microseconds of each phase of levin's step, as JSON
//   benchmark_training_step CASE floor          the least microseconds of a step on this machine, as JSON
//   (step_floor.h)
//
// CASE: training_cases.h. WHO: hand (whole batches by index_select), torch_data (samples stacked by torch::data), fit
// (the loop's optimizer, no workers), fit_without_bar, levin (levin's optimizer, one worker), levin_channels_last,
// levin_bf16 and levin_bf16_channels_last (bf16-mixed), forward_backward (of one batch in memory), forward_backward_16
// and accumulate_16 (by hand and under fit: gradients of 16 such batches add up), one_batch (levin's optimizer, no
// loading: minus forward_backward, it is the loop's overhead), session and session_one_batch (as fit and one_batch, by
// Session::step), profiler_simple, profiler_advanced, profiler_trace (all steps are traced) and profiler_memory (as
// fit_without_bar)
#include <levin/core/system/private_folder.h>
#include <levin/modules/observers/flop_counter.h>
#include <levin/program/profile/machine_speed.h>
#include <levin/program/profile/step_floor.h>
#include <levin/trainer/profilers/trace_profiler_options.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "benchmarks/statistics.h"
#include "benchmarks/training_cases.h"

namespace {

constexpr uint64_t kSeed = 11;

/// The data in the form that torch::data expects: one tensor per sample, to be stacked.
class TorchSamples : public torch::data::datasets::Dataset<TorchSamples> {
 public:
  explicit TorchSamples(const TrainingData& data) : data_(data) {}
  torch::data::Example<> get(size_t index) override {
    return {data_.input[static_cast<int64_t>(index)], data_.target[static_cast<int64_t>(index)]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(data_.input.size(0)); }

 private:
  TrainingData data_;
};

using Clock = std::chrono::steady_clock;

double microseconds_per_step(Clock::time_point begin, Clock::time_point end, int64_t steps) {
  return std::chrono::duration<double, std::micro>(end - begin).count() / static_cast<double>(steps);
}

/// Runs a hand-written step, which prints the loss every 50 steps.
void step_by_hand(BenchmarkModule& module, torch::optim::Optimizer& optimizer, const torch::Tensor& input,
                  const torch::Tensor& target, int64_t step) {
  optimizer.zero_grad();
  const auto loss = module.loss(input, target);
  loss.backward();
  optimizer.step();
  if ((step + 1) % 50 == 0) std::fprintf(stderr, "step %ld loss %f\n", step + 1, loss.item<double>());
}

/// Measures a hand-written loop that reads whole batches by index_select.
double hand(const TrainingCase& which, const TrainingData& data, int64_t steps) {
  torch::manual_seed(0);
  BenchmarkModule module(which, false);
  const auto optimizer = module.optimizer();
  const levin::data::RandomSampler sampler(which.samples);
  module.train();
  const auto begin = Clock::now();
  int64_t step = 0;
  for (int64_t epoch = 0; step < steps; ++epoch) {
    levin::data::Indices indices;
    sampler.order(kSeed, epoch)->at(0, which.samples, indices);
    const torch::Tensor order = indices.tensor();
    for (int64_t i = 0; i < which.steps_per_epoch() && step < steps; ++i, ++step) {
      const torch::Tensor index = order.narrow(0, i * which.batch_size, which.batch_size);
      step_by_hand(module, *optimizer, data.input.index_select(0, index), data.target.index_select(0, index), step);
    }
  }
  return microseconds_per_step(begin, Clock::now(), steps);
}

/// Measures a hand-written loop over samples stacked by torch::data.
double torch_data(const TrainingCase& which, const TrainingData& data, int64_t steps) {
  torch::manual_seed(0);
  BenchmarkModule module(which, false);
  const auto optimizer = module.optimizer();
  const auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      TorchSamples(data).map(torch::data::transforms::Stack<>()), static_cast<size_t>(which.batch_size));
  module.train();
  const auto begin = Clock::now();
  for (int64_t step = 0; step < steps;) {
    for (auto& batch : *loader) {
      step_by_hand(module, *optimizer, batch.data, batch.target, step);
      if (++step == steps) break;
    }
  }
  return microseconds_per_step(begin, Clock::now(), steps);
}

/// Returns the first batch, which stays in memory.
levin::Batch first_batch(const TrainingCase& which, const TrainingData& data) {
  return {data.input.narrow(0, 0, which.batch_size), data.target.narrow(0, 0, which.batch_size)};
}

/// Measures forward and backward on one batch, the minimum of a step. Gradients of `accumulate` steps add up.
double forward_backward(const TrainingCase& which, const TrainingData& data, int64_t steps, int64_t accumulate = 1) {
  torch::manual_seed(0);
  BenchmarkModule module(which, false);
  const levin::Batch batch = first_batch(which, data);
  const auto begin = Clock::now();
  for (int64_t step = 0; step < steps; ++step) {
    module.loss(batch.input(), batch.target()).backward();
    if ((step + 1) % accumulate == 0)
      for (auto& parameter : module.parameters()) parameter.mutable_grad().reset();
  }
  return microseconds_per_step(begin, Clock::now(), steps);
}

struct Stopwatch : levin::Callback {
  void on_train_start(levin::Run&) override { begin = Clock::now(); }
  void on_train_end(levin::Run&) override { end = Clock::now(); }
  Clock::time_point begin, end;
};

/// Measures the time of each phase of a step, by hooks between the phases.
struct Phases : levin::Callback {
  void on_train_start(levin::Run&) override { last = Clock::now(); }
  void on_train_batch_start(levin::Run&) override { add("load and log"); }
  void on_before_zero_grad(levin::Run&, torch::optim::Optimizer&) override { add("forward"); }
  void on_before_backward(levin::Run&, at::Tensor&) override { add("zero_grad"); }
  void on_after_backward(levin::Run&) override { add("backward"); }
  void on_train_batch_end(levin::Run&) override { add("optimizer step"); }

  void add(const char* phase) {
    const auto now = Clock::now();
    seconds[phase] += std::chrono::duration<double>(now - last).count();
    last = now;
  }
  Clock::time_point last;
  std::map<std::string, double> seconds = {};
};

/// The variant of a run under fit.
struct Fit {
  bool levins_optimizer = false;
  int64_t num_workers = 0;
  bool bar = true;
  int64_t accumulate = 1;  ///< micro-batches of a step; a step is a micro-batch in the figures
  const char* memory_format = "preserve";
  const char* precision = "32-true";
  bool one_batch = false;               ///< that stays in memory
  bool session = false;                 ///< Session::step in place of fit
  std::string profiler = {};            ///< empty: none
  std::shared_ptr<Phases> phases = {};  ///< set: measure them
};

/// Measures a run under fit, with loggers.
double fit(const TrainingCase& which, const TrainingData& data, int64_t steps, const Fit& how) {
  torch::manual_seed(0);
  BenchmarkModule module(which, how.levins_optimizer);
  const auto stopwatch = std::make_shared<Stopwatch>();
  const levin::PrivateFolder folder("benchmark");
  levin::TrainerOptions options;
  options.accelerator = "cpu";
  options.callbacks = {stopwatch};
  if (how.phases) options.callbacks.push_back(how.phases);
  options.max_steps = steps / how.accumulate;
  options.accumulate_grad_batches = how.accumulate;
  options.memory_format = how.memory_format;
  options.precision = how.precision;
  options.enable_progress_bar = how.bar;
  options.enable_checkpointing = false;  // the peers save none either
  options.default_root_dir = folder.path().string();
  options.quiet = !how.profiler.empty();
  if (how.profiler == "trace")
    options.profiler = {"trace", levin::TraceProfilerOptions{.wait = 0, .warmup = 0, .active = steps}};
  else if (!how.profiler.empty())
    options.profiler = how.profiler;
  levin::Trainer trainer(options);
  levin::data::Loaders loader = levin::data::DataLoader(levin::data::TensorDataset(data.input, data.target),
                                                        {.batch_size = which.batch_size,
                                                         .shuffle = true,
                                                         .num_workers = how.num_workers,
                                                         .drop_last = true,
                                                         .seed = static_cast<int64_t>(kSeed)});
  if (how.one_batch) {
    const int64_t batches = which.steps_per_epoch() / how.accumulate * how.accumulate;
    loader = std::vector<levin::Batch>(static_cast<size_t>(batches), first_batch(which, data));
  }
  if (how.session && how.one_batch) {
    const levin::Batch batch = first_batch(which, data);
    levin::Session session = trainer.start(module);
    while (session.next()) session.step(batch);
  } else if (how.session) {
    levin::Session session = trainer.start(module);
    levin::SessionLoader batches = session.loader(loader);
    while (session.next()) session.step(batches.next());
  } else {
    trainer.fit(module, loader);
  }
  return microseconds_per_step(stopwatch->begin, stopwatch->end, steps);
}

double run(const std::string& who, const TrainingCase& which, const TrainingData& data, int64_t steps) {
  if (who == "hand") return hand(which, data, steps);
  if (who == "torch_data") return torch_data(which, data, steps);
  if (who == "forward_backward") return forward_backward(which, data, steps);
  if (who == "forward_backward_16") return forward_backward(which, data, steps, 16);
  if (who == "accumulate_16")
    return fit(which, data, steps, {.levins_optimizer = true, .accumulate = 16, .one_batch = true});
  if (who == "fit") return fit(which, data, steps, {});
  if (who == "fit_without_bar") return fit(which, data, steps, {.bar = false});
  if (who.starts_with("profiler_")) return fit(which, data, steps, {.bar = false, .profiler = who.substr(9)});
  if (who == "one_batch") return fit(which, data, steps, {.levins_optimizer = true, .one_batch = true});
  if (who == "session") return fit(which, data, steps, {.session = true});
  if (who == "session_one_batch")
    return fit(which, data, steps, {.levins_optimizer = true, .one_batch = true, .session = true});
  Fit levin{.levins_optimizer = true, .num_workers = 1};
  if (who.find("channels_last") != std::string::npos) levin.memory_format = "channels_last";
  if (who.find("bf16") != std::string::npos) levin.precision = "bf16-mixed";
  if (who.rfind("levin", 0) == 0) return fit(which, data, steps, levin);
  throw levin::UsageError("nobody is called ", who);
}

/// Measures all variants in alternation; ratios are to the first.
void compare(const TrainingCase& which, const TrainingData& data, int rounds, const std::vector<std::string>& all) {
  std::map<std::string, Rounds> times;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (const std::string& who : all) {
      const double us = run(who, which, data, which.steps());
      if (round >= 0) times[who].values.push_back(us);
    }
  }
  std::printf("%s, batch %ld, %d rounds of %ld steps, %d thread(s), us a step (medians), ratio to %s\n",
              which.name.c_str(), which.batch_size, rounds, which.steps(), torch::get_num_threads(), all[0].c_str());
  for (const std::string& who : all) {
    const Rounds ratios = times[who].over(times[all[0]]);
    std::printf("  %-24s %9.1f us  of medians %.3f, of pairs: median %.3f, from %.3f to %.3f\n", who.c_str(),
                times[who].median(), times[who].median() / times[all[0]].median(), ratios.median(), ratios.least(),
                ratios.most());
  }
}

void compare_loops(const TrainingCase& which, int rounds) {
  const TrainingData data(which);
  std::vector<std::string> all = {"hand", "torch_data", "fit", "levin", "forward_backward"};
  if (data.input.dim() == 4) all.insert(all.end() - 1, "levin_channels_last");
  compare(which, data, rounds, all);
}

void compare_precisions(const TrainingCase& which, int rounds) {
  const TrainingData data(which);
  if (data.input.dim() == 4)
    compare(which, data, rounds, {"levin", "levin_channels_last", "levin_bf16", "levin_bf16_channels_last"});
  else
    compare(which, data, rounds, {"levin", "levin_bf16"});
}

void compare_session(const TrainingCase& which, int rounds) {
  compare(which, TrainingData(which), rounds, {"fit", "session"});
}

void compare_profilers(const TrainingCase& which, int rounds) {
  compare(which, TrainingData(which), rounds,
          {"fit_without_bar", "profiler_simple", "profiler_advanced", "profiler_trace", "profiler_memory"});
}

void print_phases(const TrainingCase& which, int64_t steps) {
  const auto phases = std::make_shared<Phases>();
  fit(which, TrainingData(which), steps, {.levins_optimizer = true, .num_workers = 1, .phases = phases});
  levin::Json row = {{"case", which.name}};
  for (const char* phase : {"load and log", "forward", "zero_grad", "backward", "optimizer step"})
    row[phase] = phases->seconds[phase] * 1e6 / static_cast<double>(steps);
  std::printf("%s\n", row.dump().c_str());
}

void print_floor(const TrainingCase& which) {
  const TrainingData data(which);
  BenchmarkModule module(which, /*levins_optimizer_=*/true);
  const auto optimizer = module.optimizer();
  const torch::Tensor input = data.input.narrow(0, 0, which.batch_size),
                      target = data.target.narrow(0, 0, which.batch_size);
  std::map<levin::MatrixProduct, int64_t> products;
  int64_t bytes = 0;
  for (int step = 0; step < 2; ++step) {  // the first makes the optimizer's state
    const levin::FlopCounter counter;
    optimizer->zero_grad();
    module.loss(input, target).backward();
    products = counter.products();
    bytes = levin::bytes_of_step(*optimizer);
    optimizer->step();
  }
  const levin::ProfileMachine machine = levin::machine_speed(torch::kCPU);
  const levin::ProfileFloor floor = levin::floor_of_step(products, bytes, /*bytes_of_ranks=*/0, machine, torch::kCPU);
  const levin::Json row = {{"case", which.name},
                           {"floor_us", floor.seconds() * 1e6},
                           {"products_us", floor.product_seconds * 1e6},
                           {"memory_us", floor.memory_seconds * 1e6},
                           {"gflops", machine.matmul_flops / 1e9},
                           {"copy_gb", machine.memory_bytes_per_second / 1e9}};
  std::printf("%s\n", row.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool only = arguments.size() == 4 && arguments[1] == "only";
  const bool precisions = arguments.size() >= 2 && arguments.size() <= 3 && arguments[1] == "precision";
  const bool sessions = arguments.size() >= 2 && arguments.size() <= 3 && arguments[1] == "session";
  const bool profilers = arguments.size() >= 2 && arguments.size() <= 3 && arguments[1] == "profiler";
  const bool phases = arguments.size() == 3 && arguments[1] == "phases";
  const bool floor = arguments.size() == 2 && arguments[1] == "floor";
  if (!only && !phases && !precisions && !sessions && !profilers && (arguments.empty() || arguments.size() > 2)) {
    const char* const program = argv[0];
    std::fprintf(stderr,
                 "usage: %s CASE [ROUNDS]\n       %s CASE precision|session|profiler [ROUNDS]\n"
                 "       %s CASE only WHO STEPS\n       %s CASE phases STEPS\n       %s CASE floor\n",
                 program, program, program, program, program);
    return 2;
  }
  const TrainingCase& which = training_case(arguments[0]);
  if (phases) {
    print_phases(which, std::stoll(arguments[2]));
    return 0;
  }
  if (floor) {
    print_floor(which);
    return 0;
  }
  if (precisions) {
    compare_precisions(which, arguments.size() > 2 ? std::stoi(arguments[2]) : 9);
    return 0;
  }
  if (sessions) {
    compare_session(which, arguments.size() > 2 ? std::stoi(arguments[2]) : 9);
    return 0;
  }
  if (profilers) {
    compare_profilers(which, arguments.size() > 2 ? std::stoi(arguments[2]) : 9);
    return 0;
  }
  if (!only) {
    compare_loops(which, arguments.size() > 1 ? std::stoi(arguments[1]) : 9);
    return 0;
  }
  const double us = run(arguments[2], which, TrainingData(which), std::stoll(arguments[3]));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"us_per_step\": %.2f, \"peak_memory_mb\": %.1f}\n", us, static_cast<double>(usage.ru_maxrss) / 1024);
} catch (const levin::UsageError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
