// A training step under Trainer::fit against the loop one writes by hand, in one process, on the same order of samples.
//
//   benchmark_training_step mlp|lenet [ROUNDS]          time: both in turn, ratio of each pair, median and spread
//   benchmark_training_step mlp|lenet only hand|fit|fit_without_bar|forward_backward STEPS    one of them alone: for
//                                                       callgrind and for the peak memory, which it prints
#include <levin/levin.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

namespace F = torch::nn::functional;
namespace nn = torch::nn;

namespace {

constexpr int64_t kSamples = 8000;
constexpr uint64_t kSeed = 11;

struct Case {
  bool lenet = false;
  int64_t batch_size() const { return lenet ? 256 : 32; }
  int64_t steps_per_epoch() const { return kSamples / batch_size(); }
};

nn::Sequential make_net(bool lenet) {
  if (!lenet) return nn::Sequential(nn::Flatten(), nn::Linear(784, 64), nn::ReLU(), nn::Linear(64, 10));
  return nn::Sequential(nn::Conv2d(1, 20, 3), nn::ReLU(), nn::AvgPool2d(2), nn::Conv2d(20, 50, 5), nn::ReLU(),
                        nn::AvgPool2d(2), nn::Flatten(), nn::Linear(800, 128), nn::ReLU(), nn::Linear(128, 10));
}

struct Classifier : levin::LightningModule {
  explicit Classifier(Case which_) : which(which_), net(register_module("net", make_net(which_.lenet))) {}

  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) {
    return F::cross_entropy(net->forward(images), labels);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    auto result = loss(batch.input(), batch.target());
    log("train_loss", result, {.prog_bar = true});
    return result;
  }
  std::shared_ptr<torch::optim::Optimizer> optimizer() {
    if (which.lenet) return std::make_shared<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(1e-3));
    return std::make_shared<torch::optim::SGD>(parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  }
  levin::OptimizerConfig configure_optimizers() override { return optimizer(); }

  Case which;
  nn::Sequential net;
};

struct Data {
  torch::Tensor images = torch::randn({kSamples, 1, 28, 28});
  torch::Tensor labels = torch::randint(10, {kSamples});
};

using Clock = std::chrono::steady_clock;

double microseconds_per_step(Clock::time_point begin, Clock::time_point end, int64_t steps) {
  return std::chrono::duration<double, std::micro>(end - begin).count() / static_cast<double>(steps);
}

/// The loop as one writes it: whole batches by index_select, the loss printed now and then.
double hand(const Case& which, const Data& data, int64_t steps) {
  torch::manual_seed(0);
  Classifier module(which);
  const auto optimizer = module.optimizer();
  const levin::data::RandomSampler sampler(kSamples);
  module.train();
  const auto begin = Clock::now();
  int64_t step = 0;
  for (int64_t epoch = 0; step < steps; ++epoch) {
    levin::data::Indices indices;
    sampler.order(kSeed, epoch)->at(0, kSamples, indices);
    const torch::Tensor order = indices.tensor();
    for (int64_t i = 0; i < which.steps_per_epoch() && step < steps; ++i, ++step) {
      const torch::Tensor index = order.narrow(0, i * which.batch_size(), which.batch_size());
      optimizer->zero_grad();
      const auto loss = module.loss(data.images.index_select(0, index), data.labels.index_select(0, index));
      loss.backward();
      optimizer->step();
      if ((step + 1) % 50 == 0) std::fprintf(stderr, "step %ld loss %f\n", step + 1, loss.item<double>());
    }
  }
  return microseconds_per_step(begin, Clock::now(), steps);
}

/// Forward and backward on one batch that stays: what a step cannot do without.
double forward_backward(const Case& which, const Data& data, int64_t steps) {
  torch::manual_seed(0);
  Classifier module(which);
  const auto images = data.images.narrow(0, 0, which.batch_size()),
             labels = data.labels.narrow(0, 0, which.batch_size());
  const auto begin = Clock::now();
  for (int64_t step = 0; step < steps; ++step) {
    module.loss(images, labels).backward();
    for (auto& parameter : module.parameters()) parameter.mutable_grad().reset();
  }
  return microseconds_per_step(begin, Clock::now(), steps);
}

struct Stopwatch : levin::Callback {
  void on_train_start(levin::Run&) override { begin = Clock::now(); }
  void on_train_end(levin::Run&) override { end = Clock::now(); }
  Clock::time_point begin, end;
};

/// The same under fit, with loggers and progress bar.
double fit(const Case& which, const Data& data, int64_t steps, bool bar = true) {
  torch::manual_seed(0);
  Classifier module(which);
  const auto stopwatch = std::make_shared<Stopwatch>();
  const auto folder = std::filesystem::temp_directory_path() / "levin_benchmark";
  levin::TrainerOptions options;
  options.callbacks = {stopwatch};
  options.max_steps = steps;
  options.enable_progress_bar = bar;
  options.default_root_dir = folder.string();
  levin::Trainer trainer(options);
  trainer.fit(
      module,
      levin::data::DataLoader(
          levin::data::TensorDataset(data.images, data.labels),
          {.batch_size = which.batch_size(), .shuffle = true, .drop_last = true, .seed = static_cast<int64_t>(kSeed)}));
  std::filesystem::remove_all(folder);
  return microseconds_per_step(stopwatch->begin, stopwatch->end, steps);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void compare(const Case& which, int rounds) {
  const Data data;
  const int64_t steps = which.lenet ? which.steps_per_epoch() : 8 * which.steps_per_epoch();
  std::vector<double> by_hand, by_fit, ratios;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const double hand_us = hand(which, data, steps), fit_us = fit(which, data, steps);
    if (round < 0) continue;
    by_hand.push_back(hand_us);
    by_fit.push_back(fit_us);
    ratios.push_back(fit_us / hand_us);
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf(
      "%s, batch %ld, %d rounds of %ld steps, %d thread(s): by hand %.1f us, fit %.1f us (medians); "
      "ratio of medians %.3f, of pairs: median %.3f, from %.3f to %.3f\n",
      which.lenet ? "LeNet" : "MLP 784-64-10", which.batch_size(), rounds, steps, torch::get_num_threads(),
      median(by_hand), median(by_fit), median(by_fit) / median(by_hand), median(ratios), *low, *high);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || (arguments[0] != "mlp" && arguments[0] != "lenet")) {
    std::fprintf(
        stderr,
        "usage: %s mlp|lenet [ROUNDS]\n       %s mlp|lenet only hand|fit|fit_without_bar|forward_backward STEPS\n",
        argv[0], argv[0]);
    return 2;
  }
  const Case which{arguments[0] == "lenet"};
  if (arguments.size() == 4 && arguments[1] == "only") {
    const int64_t steps = std::stoll(arguments[3]);
    const Data data;
    const std::string& who = arguments[2];
    const double us = who == "hand"              ? hand(which, data, steps)
                      : who == "fit"             ? fit(which, data, steps)
                      : who == "fit_without_bar" ? fit(which, data, steps, /*bar=*/false)
                                                 : forward_backward(which, data, steps);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%s: %.1f us per step, peak memory %.1f MB\n", who.c_str(), us,
                static_cast<double>(usage.ru_maxrss) / 1024);
    return 0;
  }
  compare(which, arguments.size() > 1 ? std::stoi(arguments[1]) : 9);
}
