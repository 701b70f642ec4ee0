// A training step under Trainer::fit against the loop one writes by hand, in one process, on the same order of samples:
// `fit` has the loop's own optimizer and no workers, `levin` has levin's optimizer and one worker.
//
//   benchmark_training_step NETWORK [ROUNDS]       time: all in turn, ratios to the loop, median and spread
//   benchmark_training_step NETWORK only WHO STEPS one of them alone: for callgrind and the peak memory, which it
//   prints
//
// NETWORK: mlp, mlp_adam, lenet, scalar; WHO: hand, torch_data, fit, fit_without_bar, levin, forward_backward
#include <levin/levin.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

namespace F = torch::nn::functional;
namespace nn = torch::nn;

namespace {

constexpr int64_t kSamples = 8000;
constexpr uint64_t kSeed = 11;

/// What is trained. `scalar` is one parameter and a loss of two operations: what is left is the loop's own cost.
struct Case {
  enum class Network { Mlp, LeNet, Scalar } network = Network::Mlp;
  bool adam = false;
  int64_t batch_size() const { return network == Network::LeNet ? 256 : 32; }
  int64_t steps_per_epoch() const { return kSamples / batch_size(); }
  int64_t epochs() const { return network == Network::LeNet ? 1 : network == Network::Mlp ? 8 : 80; }
};

Case case_of(const std::string& name) {
  if (name == "lenet") return {Case::Network::LeNet, true};
  if (name == "scalar") return {Case::Network::Scalar, false};
  return {Case::Network::Mlp, name == "mlp_adam"};
}

nn::Sequential make_net(Case::Network network) {
  if (network == Case::Network::Mlp)
    return nn::Sequential(nn::Flatten(), nn::Linear(784, 64), nn::ReLU(), nn::Linear(64, 10));
  return nn::Sequential(nn::Conv2d(1, 20, 3), nn::ReLU(), nn::AvgPool2d(2), nn::Conv2d(20, 50, 5), nn::ReLU(),
                        nn::AvgPool2d(2), nn::Flatten(), nn::Linear(800, 128), nn::ReLU(), nn::Linear(128, 10));
}

struct Classifier : levin::LightningModule {
  Classifier(Case which_, bool levins_optimizer_) : which(which_), levins_optimizer(levins_optimizer_) {
    if (which.network == Case::Network::Scalar)
      scalar = register_parameter("scalar", torch::ones({}));
    else
      net = register_module("net", make_net(which.network));
  }

  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) {
    if (scalar.defined()) return scalar * scalar;
    return F::cross_entropy(net->forward(images), labels);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    auto result = loss(batch.input(), batch.target());
    log("train_loss", result, {.prog_bar = true});
    return result;
  }
  std::shared_ptr<torch::optim::Optimizer> optimizer() {
    if (levins_optimizer) {
      if (which.adam) return std::make_shared<levin::optim::Adam>(parameters());
      return std::make_shared<levin::optim::SGD>(parameters(), levin::optim::SGDOptions{.lr = 0.01, .momentum = 0.9});
    }
    if (which.adam) return std::make_shared<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(1e-3));
    return std::make_shared<torch::optim::SGD>(parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  }
  levin::OptimizerConfig configure_optimizers() override { return optimizer(); }

  Case which;
  bool levins_optimizer;
  torch::Tensor scalar;
  nn::Sequential net{nullptr};
};

struct Data {
  explicit Data(const Case& which)
      : images(which.network == Case::Network::Scalar ? torch::randn({kSamples, 1})
                                                      : torch::randn({kSamples, 1, 28, 28})) {}
  torch::Tensor images, labels = torch::randint(10, {kSamples});
};

/// The same images as torch::data has them: a tensor for each sample, stacked.
class TorchImages : public torch::data::datasets::Dataset<TorchImages> {
 public:
  explicit TorchImages(const Data& data) : data_(data) {}
  torch::data::Example<> get(size_t index) override {
    return {data_.images[static_cast<int64_t>(index)], data_.labels[static_cast<int64_t>(index)]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(kSamples); }

 private:
  Data data_;
};

using Clock = std::chrono::steady_clock;

double microseconds_per_step(Clock::time_point begin, Clock::time_point end, int64_t steps) {
  return std::chrono::duration<double, std::micro>(end - begin).count() / static_cast<double>(steps);
}

/// A step as one writes it, the loss printed now and then.
void step_by_hand(Classifier& module, torch::optim::Optimizer& optimizer, const torch::Tensor& images,
                  const torch::Tensor& labels, int64_t step) {
  optimizer.zero_grad();
  const auto loss = module.loss(images, labels);
  loss.backward();
  optimizer.step();
  if ((step + 1) % 50 == 0) std::fprintf(stderr, "step %ld loss %f\n", step + 1, loss.item<double>());
}

/// Whole batches by index_select.
double hand(const Case& which, const Data& data, int64_t steps) {
  torch::manual_seed(0);
  Classifier module(which, false);
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
      step_by_hand(module, *optimizer, data.images.index_select(0, index), data.labels.index_select(0, index), step);
    }
  }
  return microseconds_per_step(begin, Clock::now(), steps);
}

/// Samples stacked by torch::data.
double torch_data(const Case& which, const Data& data, int64_t steps) {
  torch::manual_seed(0);
  Classifier module(which, false);
  const auto optimizer = module.optimizer();
  const auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      TorchImages(data).map(torch::data::transforms::Stack<>()), static_cast<size_t>(which.batch_size()));
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

/// Forward and backward on one batch that stays: what a step cannot do without.
double forward_backward(const Case& which, const Data& data, int64_t steps) {
  torch::manual_seed(0);
  Classifier module(which, false);
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

/// What a run under fit has.
struct Fit {
  bool levins_optimizer = false;
  int64_t num_workers = 0;
  bool bar = true;
};

/// Under fit, with loggers.
double fit(const Case& which, const Data& data, int64_t steps, const Fit& how) {
  torch::manual_seed(0);
  Classifier module(which, how.levins_optimizer);
  const auto stopwatch = std::make_shared<Stopwatch>();
  const auto folder = std::filesystem::temp_directory_path() / "levin_benchmark";
  levin::TrainerOptions options;
  options.callbacks = {stopwatch};
  options.max_steps = steps;
  options.enable_progress_bar = how.bar;
  options.default_root_dir = folder.string();
  levin::Trainer trainer(options);
  trainer.fit(module, levin::data::DataLoader(levin::data::TensorDataset(data.images, data.labels),
                                              {.batch_size = which.batch_size(),
                                               .shuffle = true,
                                               .num_workers = how.num_workers,
                                               .drop_last = true,
                                               .seed = static_cast<int64_t>(kSeed)}));
  std::filesystem::remove_all(folder);
  return microseconds_per_step(stopwatch->begin, stopwatch->end, steps);
}

double run(const std::string& who, const Case& which, const Data& data, int64_t steps) {
  if (who == "hand") return hand(which, data, steps);
  if (who == "torch_data") return torch_data(which, data, steps);
  if (who == "forward_backward") return forward_backward(which, data, steps);
  if (who == "fit") return fit(which, data, steps, {});
  if (who == "fit_without_bar") return fit(which, data, steps, {.bar = false});
  if (who == "levin") return fit(which, data, steps, {.levins_optimizer = true, .num_workers = 1});
  throw std::invalid_argument("nobody is called " + who);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void compare(const std::string& name, int rounds) {
  const Case which = case_of(name);
  const Data data(which);
  const int64_t steps = which.epochs() * which.steps_per_epoch();
  const std::vector<std::string> all = {"hand", "torch_data", "fit", "levin", "forward_backward"};
  std::map<std::string, std::vector<double>> times;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    for (const std::string& who : all) {
      const double us = run(who, which, data, steps);
      if (round >= 0) times[who].push_back(us);
    }
  }
  std::printf("%s, batch %ld, %d rounds of %ld steps, %d thread(s), us a step (medians), ratio to hand\n", name.c_str(),
              which.batch_size(), rounds, steps, torch::get_num_threads());
  for (const std::string& who : all) {
    std::vector<double> ratios;
    for (size_t i = 0; i < times[who].size(); ++i) ratios.push_back(times[who][i] / times["hand"][i]);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("  %-17s %9.1f us  of medians %.3f, of pairs: median %.3f, from %.3f to %.3f\n", who.c_str(),
                median(times[who]), median(times[who]) / median(times["hand"]), median(ratios), *low, *high);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> networks = {"mlp", "mlp_adam", "lenet", "scalar"};
  if (arguments.empty() || std::find(networks.begin(), networks.end(), arguments[0]) == networks.end()) {
    std::fprintf(stderr, "usage: %s mlp|mlp_adam|lenet|scalar [ROUNDS]\n       %s NETWORK only WHO STEPS\n", argv[0],
                 argv[0]);
    return 2;
  }
  if (arguments.size() == 4 && arguments[1] == "only") {
    const Case which = case_of(arguments[0]);
    const double us = run(arguments[2], which, Data(which), std::stoll(arguments[3]));
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%s: %.1f us per step, peak memory %.1f MB\n", arguments[2].c_str(), us,
                static_cast<double>(usage.ru_maxrss) / 1024);
    return 0;
  }
  compare(arguments[0], arguments.size() > 1 ? std::stoi(arguments[1]) : 9);
}
