// Compiled steps against eager ones, in one process, on one batch in memory, by the CPU time of the thread: run it with
// OMP_NUM_THREADS=1.
//
//   benchmark_compiled_step CASE FOLDER [ROUNDS]        times in alternation, and ratios of medians
//   benchmark_compiled_step CASE FOLDER only WHO STEPS  one of them alone, for a profiler: instructions a step are the
//                                                       difference of two counts
//
// CASE: mlp (784-64-10, batch 32), conv_bn (a convolutional net with BatchNorm, batch 64), lenet (batch 64), gpt (4
// blocks of 128, 8 x 64 tokens). FOLDER keeps the packages: CASE.pt2 and CASE_in_step.pt2 are compiled where they are
// missing. WHO:
//
//   eager         forward and backward by loss and backward()
//   code          the package's code alone
//   direct        the code, and its gradients put into .grad
//   fit           whole steps under fit, eager, with levin's SGD or Adam
//   fit_compiled  whole steps under fit with compiled_step
//   fit_in_step   the same, with the optimizer's step in the package
//   fit_hooks     as fit_compiled, with a hook on each parameter's gradient
//   fit_autograd  the same, but the gradients come through autograd, as under ddp
//   hand          whole steps of the hand-written loop: zero_grad, forward, backward, torch::optim's step
//
// After the times: the largest difference of the losses of 200 steps of both fits, as a measure of it that of an eager
// fit whose weights begin 1e-7 apart, and the milliseconds that a fit of two steps takes longer with a package.
#include <levin/core/system/private_folder.h>
#include <levin/trainer/compiled/compiled_code.h>
#include <levin/trainer/compiled/step_trace.h>

#include <time.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "benchmarks/statistics.h"
#include "benchmarks/training_cases.h"

namespace {

/// The CPU time of this thread: other programs that take its core do not count.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  static time_point now() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};
namespace nn = torch::nn;

double microseconds(Clock::time_point begin, int64_t steps) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / static_cast<double>(steps);
}

nn::Sequential conv_bn() {
  return nn::Sequential(nn::Conv2d(1, 20, 5), nn::BatchNorm2d(20), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(20, 50, 5),
                        nn::BatchNorm2d(50), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(800, 500),
                        nn::ReLU(), nn::Linear(500, 10));
}

/// Overrides backward, so that gradients come through a graph.
struct ThroughAutograd : BenchmarkModule {
  using BenchmarkModule::BenchmarkModule;
  void backward(const torch::Tensor& loss) override { loss.backward(); }
};

/// Has a hook on each gradient.
struct WithHooks : BenchmarkModule {
  using BenchmarkModule::BenchmarkModule;
  void on_train_start(levin::Run&) override {
    for (const torch::Tensor& parameter : parameters())
      parameter.register_hook([](const torch::Tensor& gradient) { return gradient; });
  }
};

/// The module of a case, and a batch in memory.
struct Case {
  explicit Case(const std::string& name_) : name(name_) {
    torch::manual_seed(0);
    if (name == "conv_bn") {
      base = {.name = "lenet", .batch_size = 64, .samples = 64, .epochs = 1, .adam = false};
    } else {
      base = training_case(name);
      if (name == "lenet") base.batch_size = 64;
    }
    const TrainingData data(base);
    batch = {data.input.narrow(0, 0, base.batch_size), data.target.narrow(0, 0, base.batch_size)};
  }
  template <class M = BenchmarkModule>
  std::shared_ptr<M> module() const {
    torch::manual_seed(0);
    auto made = std::make_shared<M>(base, /*levins_optimizer=*/true);
    if (name != "conv_bn") return made;
    made->unregister_module("net");
    nn::Sequential net = made->register_module("net", conv_bn());
    made->loss_of = [net](const torch::Tensor& input, const torch::Tensor& target) mutable {
      return nn::functional::cross_entropy(net->forward(input), target);
    };
    return made;
  }
  int64_t steps() const { return name == "mlp" ? 400 : 20; }

  std::string name;
  TrainingCase base = {};
  levin::Batch batch = {};
};

levin::TrainerOptions options_in(const levin::PrivateFolder& folder, int64_t steps, const std::string& package) {
  levin::TrainerOptions options;
  options.max_steps = steps;
  options.logger = false;
  options.enable_progress_bar = options.enable_model_summary = options.enable_checkpointing = false;
  options.quiet = true;
  options.default_root_dir = folder.path().string();
  options.compiled_step = package;
  return options;
}

struct Watch : levin::Callback {
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().batches_seen == 3) begin = Clock::now();  // the first are checked, and warm up
    if (losses != nullptr) losses->push_back(run.output().loss.item<double>());
  }
  void on_train_end(levin::Run&) override { end = Clock::now(); }
  std::vector<double>* losses = nullptr;
  Clock::time_point begin, end;
};

template <class M = BenchmarkModule>
double fit(const Case& which, int64_t steps, const std::string& package, std::vector<double>* losses = nullptr,
           double* whole = nullptr, double weights = 1) {
  const auto module = which.module<M>();
  {
    const torch::NoGradGuard no_grad;
    for (const torch::Tensor& parameter : module->parameters()) parameter.mul_(weights);
  }
  const auto watch = std::make_shared<Watch>();
  watch->losses = losses;
  const levin::PrivateFolder folder("benchmark");
  levin::TrainerOptions options = options_in(folder, steps + 3, package);
  options.callbacks = {watch};
  const auto begin = Clock::now();
  levin::Trainer(options).fit(*module, std::vector<levin::Batch>(static_cast<size_t>(steps + 3), which.batch));
  if (whole != nullptr) *whole = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return std::chrono::duration<double, std::micro>(watch->end - watch->begin).count() / static_cast<double>(steps);
}

double eager(const Case& which, int64_t steps) {
  const auto module = which.module();
  const std::vector<torch::Tensor> parameters = module->parameters();
  auto begin = Clock::now();
  for (int64_t step = -3; step < steps; ++step) {
    if (step == 0) begin = Clock::now();
    for (const auto& parameter : parameters) parameter.mutable_grad().reset();
    module->loss(which.batch.input(), which.batch.target()).backward();
  }
  return microseconds(begin, steps);
}

double hand(const Case& which, int64_t steps) {
  const auto module = which.module();
  module->levins_optimizer = false;
  const auto optimizer = module->optimizer();
  auto begin = Clock::now();
  for (int64_t step = -3; step < steps; ++step) {
    if (step == 0) begin = Clock::now();
    optimizer->zero_grad();
    module->loss(which.batch.input(), which.batch.target()).backward();
    optimizer->step();
  }
  return microseconds(begin, steps);
}

/// The package's code; its gradients go into .grad as autograd puts them there, or through a graph.
double code(const Case& which, int64_t steps, const std::string& package, bool direct) {
  const auto module = which.module();
  const auto code = levin::compiled::load_compiled_code(package);
  std::vector<torch::Tensor> inputs;
  for (const auto& input : levin::compiled::inputs_of_step(*module, which.batch)) inputs.push_back(input.tensor);
  const std::vector<torch::Tensor> parameters = module->parameters();
  auto begin = Clock::now();
  const torch::NoGradGuard no_grad;
  for (int64_t step = -3; step < steps; ++step) {
    if (step == 0) begin = Clock::now();
    if (direct)
      for (const auto& parameter : parameters) parameter.mutable_grad().reset();
    auto results = code->run(inputs);
    if (!direct) continue;
    const size_t first = results.size() - parameters.size();
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = std::move(results[first + i]);
  }
  return microseconds(begin, steps);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

void compile_if_missing(const Case& which, const std::string& package, const std::string& optimizer) {
  if (std::filesystem::exists(package)) return;
  const auto module = which.module();
  const levin::PrivateFolder folder("benchmark");
  const levin::CompileStepResult result = levin::compile_step(
      levin::Trainer(options_in(folder, 1, "")), *module, levin::data::Loaders(std::vector<levin::Batch>{which.batch}),
      {.out = package, .threads = torch::get_num_threads(), .optimizer = optimizer});
  std::printf("compiled in %.0f s; loss differs by %.2g, gradients or changes by %.2g of the largest\n", result.seconds,
              result.loss_difference, result.gradient_difference);
}

}  // namespace

int main(int argc, char** argv) try {
  const bool is_only = argc == 6 && std::string(argv[3]) == "only";
  if ((argc < 3 || argc > 4) && !is_only) {
    std::fprintf(stderr, "usage: %s CASE FOLDER [ROUNDS]\n       %s CASE FOLDER only WHO STEPS\n", argv[0], argv[0]);
    return 2;
  }
  const Case which(argv[1]);
  const int rounds = argc == 4 ? std::stoi(argv[3]) : 9;
  const int64_t steps = is_only ? std::stoll(argv[5]) : which.steps();
  const std::string package = std::string(argv[2]) + "/" + which.name + ".pt2";
  const std::string with_optimizer = std::string(argv[2]) + "/" + which.name + "_in_step.pt2";
  compile_if_missing(which, package, "eager");
  compile_if_missing(which, with_optimizer, "in_step");
  const std::map<std::string, std::function<double()>> all = {
      {"eager", [&] { return eager(which, steps); }},
      {"code", [&] { return code(which, steps, package, false); }},
      {"direct", [&] { return code(which, steps, package, true); }},
      {"fit", [&] { return fit(which, steps, ""); }},
      {"hand", [&] { return hand(which, steps); }},
      {"fit_in_step", [&] { return fit(which, steps, with_optimizer); }},
      {"fit_hooks", [&] { return fit<WithHooks>(which, steps, package); }},
      {"fit_autograd", [&] { return fit<ThroughAutograd>(which, steps, package); }},
      {"fit_compiled", [&] { return fit(which, steps, package); }}};
  if (is_only) {
    std::printf("%s, %s: %.1f us a step\n", which.name.c_str(), argv[4], all.at(argv[4])());
    return 0;
  }
  std::map<std::string, Rounds> times;
  for (int round = -1; round < rounds; ++round)
    for (const auto& [who, measure] : all) {
      const double us = measure();
      if (round >= 0) times[who].values.push_back(us);
    }
  std::printf("%s, batch %ld, %d rounds of %ld steps, %d thread(s), us a step (medians)\n", which.name.c_str(),
              which.base.batch_size, rounds, steps, torch::get_num_threads());
  for (const auto& [who, peer] : {std::pair("code", "eager"),
                                  {"direct", "eager"},
                                  {"fit_compiled", "fit"},
                                  {"fit_compiled", "hand"},
                                  {"fit_in_step", "fit_compiled"},
                                  {"fit_in_step", "hand"},
                                  {"fit_hooks", "fit_compiled"},
                                  {"fit_autograd", "fit_compiled"}})
    std::printf("  %-12s %9.1f us, %-12s %9.1f us: %.3f, of pairs %.3f (%.3f to %.3f)\n", who, times[who].median(),
                peer, times[peer].median(), times[who].median() / times[peer].median(),
                times[who].over(times[peer]).median(), times[who].over(times[peer]).least(),
                times[who].over(times[peer]).most());
  std::vector<double> plain, compiled, in_step, nearly;
  fit(which, 200, "", &plain);
  fit(which, 200, package, &compiled);
  fit(which, 200, with_optimizer, &in_step);
  fit(which, 200, "", &nearly, nullptr, 1 + 1e-7);
  std::printf(
      "  losses of %zu steps: largest difference %.2g, in_step %.2g; eager with weights that differ by 1e-7: %.2g (the "
      "last is "
      "%.4f)\n",
      plain.size(), largest_difference(plain, compiled), largest_difference(plain, in_step),
      largest_difference(plain, nearly), plain.back());
  Rounds start;
  for (int round = 0; round < 5; ++round) {
    double without = 0, with = 0;
    fit(which, 1, "", nullptr, &without);
    fit(which, 1, package, nullptr, &with);
    start.values.push_back(with - without);
  }
  std::printf("  a fit of 4 steps takes %.0f ms longer with the package (median of 5)\n", start.median());
} catch (const levin::UsageError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
