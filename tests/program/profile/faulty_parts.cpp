// Modules, data, a callback and a logger that slow a run down on request; registered for configs. What sleeps stands
// for work whose time is known, so that the gain of a change is certain on a busy machine.
#include <levin/levin.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

namespace faults {
namespace {

void sleep_ms(double milliseconds) {
  if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

/// Keeps the thread busy for a number of milliseconds of its CPU time, as decoding an image does.
void burn_ms(double milliseconds) {
  if (milliseconds <= 0) return;
  timespec begin = {}, now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  volatile double sink = 1;
  do {
    for (int i = 0; i < 500; ++i) sink = std::sqrt(sink + i);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (1e3 * static_cast<double>(now.tv_sec - begin.tv_sec) +
               1e-6 * static_cast<double>(now.tv_nsec - begin.tv_nsec) <
           milliseconds);
}

}  // namespace

struct DataOptions {
  int64_t samples = LEVIN_OPTION(samples, 4096, "Training samples");
  int64_t val_samples = LEVIN_OPTION(val_samples, 0, "Validation samples");
  std::vector<int64_t> shape = LEVIN_OPTION(shape, {64}, "Shape of an input");
  double sleep = LEVIN_OPTION(sleep, 0, "Milliseconds that a sample waits");
  double decode = LEVIN_OPTION(decode, 0, "Milliseconds of CPU time that a sample takes");
  bool cache = LEVIN_OPTION(cache, false, "Keep decoded samples");
  double hook_sleep = LEVIN_OPTION(hook_sleep, 0, "Milliseconds of on_before_batch_transfer");
  double loader_sleep = LEVIN_OPTION(loader_sleep, 0, "Milliseconds to make the loaders");
  bool transposed = LEVIN_OPTION(transposed, false, "Inputs that lie the other way in memory");
  LEVIN_LOADER_OPTIONS(64, true);
};

struct Samples : levin::data::Dataset {
  Samples(DataOptions options_, int64_t number_) : options(std::move(options_)), number(number_) {
    input = torch::randn(options.shape);
    std::vector<int64_t> sizes = options.shape;
    sizes.insert(sizes.begin(), options.batch_size);
    inputs = torch::randn(sizes);
    if (options.transposed) inputs = inputs.transpose(1, -1).contiguous().transpose(1, -1);
    targets = torch::arange(options.batch_size).remainder(10);
  }
  int64_t size() const override { return number; }
  levin::Batch get(int64_t index, levin::data::Rng&) const override {
    sleep_ms(options.sleep);
    if (!options.cache) burn_ms(options.decode);
    return levin::Batch(input, torch::tensor(index % 10));
  }
  /// Without waiting and decoding, a batch costs nothing.
  void get_batch(const levin::data::Indices& indices, levin::Batch& out) const override {
    const auto samples = static_cast<int64_t>(indices.size());
    if (options.sleep > 0 || options.decode > 0 || samples > options.batch_size)
      levin::data::Dataset::get_batch(indices, out);
    else
      out = levin::Batch(inputs.narrow(0, 0, samples), targets.narrow(0, 0, samples));
  }
  DataOptions options;
  int64_t number;
  at::Tensor input, inputs, targets;
};

struct Data : levin::data::DataModule {
  using Options = DataOptions;
  explicit Data(DataOptions options_) : options(std::move(options_)) {}
  levin::data::Loaders train_dataloader() override {
    sleep_ms(options.loader_sleep);
    return levin::data::DataLoader(Samples(options, options.samples), levin::data::loader_options(options));
  }
  levin::data::Loaders val_dataloader() override {
    if (options.val_samples == 0) return {};
    return levin::data::DataLoader(Samples(options, options.val_samples), {.batch_size = options.batch_size});
  }
  DataOptions options;
};

struct HookData : Data {
  using Options = DataOptions;
  using Data::Data;
  levin::Batch on_before_batch_transfer(levin::Batch batch, int64_t) override {
    sleep_ms(options.hook_sleep);
    return batch;
  }
};

struct FixedDataOptions {
  int64_t samples = LEVIN_OPTION(samples, 4096, "Training samples");
};

/// Data whose batches have the size that they have, as those of a simulator.
struct FixedData : levin::data::DataModule {
  using Options = FixedDataOptions;
  explicit FixedData(FixedDataOptions options_) : options(options_) {}
  levin::data::Loaders train_dataloader() override {
    return levin::data::DataLoader(Samples(DataOptions(), options.samples), {.batch_size = DataOptions().batch_size});
  }
  FixedDataOptions options;
};

struct NetOptions {
  int64_t width = LEVIN_OPTION(width, 64, "Features of an input, and of the layers");
  int64_t layers = LEVIN_OPTION(layers, 1, "Linear layers");
  int64_t channels = LEVIN_OPTION(channels, 0, "Channels of convolutions in place of linear layers");
  double sleep = LEVIN_OPTION(sleep, 0, "Milliseconds of a training step");
  double sample_sleep = LEVIN_OPTION(sample_sleep, 0, "Milliseconds of a training step for each sample");
  double val_sleep = LEVIN_OPTION(val_sleep, 0, "Milliseconds of a validation step");
  int64_t items = LEVIN_OPTION(items, 0, "Values read on the host");
  int64_t copies = LEVIN_OPTION(copies, 0, "Copies of the batch");
  int64_t doubles = LEVIN_OPTION(doubles, 0, "Operations in double precision");
  bool in_float32 = LEVIN_OPTION(in_float32, false, "And in single precision, as it should be");
  int64_t scratch = LEVIN_OPTION(scratch, 0, "Empty tensors of 1 MiB");
  int64_t denormals = LEVIN_OPTION(denormals, 0, "Operations on denormal numbers");
  int64_t chain = LEVIN_OPTION(chain, 0, "Small operations in a row");
  int64_t layout_reads = LEVIN_OPTION(layout_reads, 0, "Sums over the input's rows");
  int64_t small_parameters = LEVIN_OPTION(small_parameters, 0, "Parameters of 8 numbers");
  bool torch_optimizer = LEVIN_OPTION(torch_optimizer, false, "LibTorch's Adam in place of levin's");
  double optimizer_sleep = LEVIN_OPTION(optimizer_sleep, 0, "Milliseconds of the optimizer's step");
  bool keep_losses = LEVIN_OPTION(keep_losses, false, "Keep another loss of each step with its graph");
  bool keep_detached = LEVIN_OPTION(keep_detached, false, "Keep it without the graph, as it should be");
  bool log_step = LEVIN_OPTION(log_step, true, "Log the loss of each step");
};

struct SleepingSGD : torch::optim::SGD {
  SleepingSGD(std::vector<at::Tensor> parameters, double milliseconds)
      : torch::optim::SGD(std::move(parameters), torch::optim::SGDOptions(1e-3)), sleep(milliseconds) {}
  at::Tensor step(LossClosure closure = nullptr) override {
    for (const auto& group : param_groups())
      if (!group.params().empty()) sleep_ms(sleep);
    return torch::optim::SGD::step(std::move(closure));
  }
  double sleep;
};

struct Net : levin::LightningModule {
  using Options = NetOptions;
  explicit Net(NetOptions options_) : options(std::move(options_)) {
    namespace nn = torch::nn;
    if (options.channels > 0) {
      layers->push_back(nn::Conv2d(nn::Conv2dOptions(3, options.channels, 3).padding(1)));
      for (int64_t i = 1; i < options.layers; ++i) {
        layers->push_back(nn::ReLU());
        layers->push_back(nn::Conv2d(nn::Conv2dOptions(options.channels, options.channels, 3).padding(1)));
      }
      layers->push_back(nn::AdaptiveAvgPool2d(1));
      layers->push_back(nn::Flatten());
      layers->push_back(nn::Linear(options.channels, 10));
    } else {
      for (int64_t i = 0; i < options.layers; ++i) {
        layers->push_back(nn::Linear(options.width, options.width));
        layers->push_back(nn::ReLU());
      }
      layers->push_back(nn::Linear(options.width, 10));
    }
    register_module("layers", layers);
    for (int64_t i = 0; i < options.small_parameters; ++i)
      small.push_back(register_parameter("small_" + std::to_string(i), torch::randn({8})));
    tiny = register_buffer("tiny", torch::full({256, 1024}, 1e-41));
  }

  at::Tensor loss_of(const levin::Batch& batch) {
    at::Tensor input = batch.input();
    if (options.channels == 0) input = input.flatten(1).narrow(1, 0, options.width);
    return torch::nn::functional::cross_entropy(layers->forward(input), batch.target());
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    sleep_ms(options.sleep + options.sample_sleep * static_cast<double>(batch.size()));
    at::Tensor loss = loss_of(batch);
    for (int64_t i = 0; i < options.items; ++i) seen += loss.item<double>();
    for (int64_t i = 0; i < options.copies; ++i) last = batch.input().clone();
    if (options.doubles > 0) {
      const at::Tensor wide = torch::ones({512, 512}, options.in_float32 ? at::kFloat : at::kDouble);
      for (int64_t i = 0; i < options.doubles; ++i) last = wide.mul(1.5);
    }
    for (int64_t i = 0; i < options.scratch; ++i) last = torch::empty({256, 1024});
    for (int64_t i = 0; i < options.denormals; ++i) last = tiny.mul(0.5);
    for (int64_t i = 0; i < options.layout_reads; ++i) last = batch.input().mul(2.0).sum(-1);
    for (int64_t i = 0; i < options.chain; ++i) loss = loss * 1.0001;
    if (!small.empty()) loss = loss + 1e-3 * torch::cat(small).pow(2).sum();
    if (options.keep_losses || options.keep_detached) {
      const at::Tensor other = loss_of(batch);  // of which nobody computes gradients
      losses.push_back(options.keep_detached ? other.detach() : other);
    }
    if (options.log_step) log("train_loss", loss, {.on_step = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    sleep_ms(options.val_sleep);
    log("val_loss", loss_of(batch));
  }
  levin::OptimizerConfig configure_optimizers() override {
    if (options.optimizer_sleep > 0) return std::make_shared<SleepingSGD>(parameters(), options.optimizer_sleep);
    if (options.torch_optimizer)
      return std::make_shared<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(1e-4));
    return levin::optim::Adam(parameters(), {.lr = 1e-4});
  }

  NetOptions options;
  torch::nn::Sequential layers;
  std::vector<at::Tensor> small = {};
  at::Tensor tiny, last;
  std::deque<at::Tensor> losses = {};
  double seen = 0;
};

struct SlowCallbackOptions {
  double sleep = LEVIN_OPTION(sleep, 0, "Milliseconds after each batch");
  int64_t items = LEVIN_OPTION(items, 0, "Reads of the loss after each batch");
};

struct SlowCallback : levin::Callback {
  using Options = SlowCallbackOptions;
  explicit SlowCallback(SlowCallbackOptions options_) : options(options_) {}
  void on_train_batch_end(levin::Run& run) override {
    sleep_ms(options.sleep);
    for (int64_t i = 0; i < options.items; ++i) seen += run.output().loss.item<double>();
  }
  SlowCallbackOptions options;
  double seen = 0;
};

struct SlowLogger : levin::Logger {
  using Options = SlowCallbackOptions;
  SlowLogger(const std::filesystem::path&, SlowCallbackOptions options_) : options(options_) {}
  std::string name() const override { return "SlowLogger"; }
  void log_metrics(const levin::Metrics& values, const levin::LogRow&) override {
    if (!values.empty()) sleep_ms(options.sleep);
  }
  SlowCallbackOptions options;
};

}  // namespace faults

using faults::Data;
using faults::FixedData;
using faults::HookData;
using faults::Net;
using faults::SlowCallback;
using faults::SlowLogger;
LEVIN_REGISTER_DATA_MODULE(Data);
LEVIN_REGISTER_DATA_MODULE(FixedData);
LEVIN_REGISTER_DATA_MODULE(HookData);
LEVIN_REGISTER_MODULE(Net);
LEVIN_REGISTER_CALLBACK(SlowCallback);
LEVIN_REGISTER_LOGGER(SlowLogger);
