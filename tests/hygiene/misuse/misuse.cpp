// Each mistake below stops the compiler with levin's own text, which the comment above it shows; without LEVIN_MISUSE
// the file compiles. See compile_errors.cmake.
#include <levin/callbacks/callback.h>
#include <levin/data/data_loader.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/trainer/loggers/logger.h>
#include <levin/trainer/trainer.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>

#include <string>

namespace data = levin::data;

/// What is right: modules and data by reference and by pointer, an overload beside a hook, helpers of any other name.
struct Right : levin::LightningModule {
  using levin::LightningModule::test_step;
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) noexcept override {
    return {batch.input().sum()};
  }
  void test_step(const std::string&) {}
  void validation_step(const levin::Batch&, int64_t) override {
    log("a", 2.0);
    log("b", 3, {.prog_bar = true});
    log("c", accuracy);
    log_dict({{"d", 1.0}, {"e", 2.0}});
    log_dict({{"f", at::Tensor()}});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return {torch::optim::SGD(parameters(), 0.1), levin::StepLR({.step_size = 1})};
  }
  levin::metrics::Accuracy accuracy{{.task = "binary"}};
};

struct RightSteps : levin::LightningModule {
  void validation_step(const levin::Batch&, int64_t) override {}
  void test_step(const levin::Batch&, int64_t) noexcept override {}
};
static_assert(levin::overridden_by<RightSteps>().has(levin::ModuleMethod::validation_step));
static_assert(levin::overridden_by<RightSteps>().has(levin::ModuleMethod::test_step));
static_assert(!levin::overridden_by<RightSteps>().has(levin::ModuleMethod::predict_step));

struct RightData : data::DataModule {
  data::Loaders train_dataloader() override { return std::vector<levin::Batch>{levin::Batch(at::Tensor())}; }
};

struct RightDataset : data::Dataset {
  int64_t size() const override { return 1; }
  levin::Batch get(int64_t, data::Rng&) const override { return {}; }
};
data::DataLoader right_loader() { return data::DataLoader(RightDataset(), {.batch_size = 1}); }

struct RightLogger : levin::Logger {
  std::string name() const override { return "right"; }
  void log_metrics(const levin::Metrics&, const levin::LogRow&) override {}
};
levin::TrainerOptions right_logger() { return {.logger = std::make_shared<RightLogger>()}; }

void right(levin::Trainer& trainer, const std::shared_ptr<Right>& module, const std::shared_ptr<RightData>& data) {
  trainer.fit(module, data);
  trainer.fit(*module, *data);
  trainer.test(module.get(), data.get());
  trainer.validate(std::make_unique<Right>(), std::make_unique<RightData>());
  trainer.fit(std::shared_ptr<levin::LightningModule>(module));
}

#ifdef LEVIN_MISUSE

// expect: a class has a function on_train_epoch_end with other parameters
// expect: write: void on_train_epoch_end(Run&) override
struct HiddenHook : levin::LightningModule {
  void on_train_epoch_end() {}
};
void hidden_hook(levin::Trainer& trainer, HiddenHook& module) { trainer.fit(module); }

// expect: a class has a function validation_step with other parameters
// expect: write: void validation_step(const Batch&, int64_t) override
struct HiddenStep : levin::LightningModule {
  void validation_step(const levin::Batch&) {}
};
void hidden_step() { levin::make_module<HiddenStep>(); }

// expect: write: Batch predict_step(const Batch&, int64_t) override
struct StaticStep : levin::LightningModule {
  static levin::Batch predict_step(const levin::Batch& batch, int64_t) { return batch; }
};
void static_step() { levin::make_module<StaticStep>(); }

// expect: a class has a function test_step with other parameters
struct StepWithLoader : levin::LightningModule {
  void test_step(const levin::Batch&, int64_t, int64_t) {}
};
void step_with_loader(levin::Trainer& trainer, StepWithLoader& module) { trainer.test(module); }

// expect: a class has a function configure_optimizers with other parameters
struct HiddenByConst : levin::LightningModule {
  levin::OptimizerConfig configure_optimizers() const { return {}; }
};
void hidden_by_const(levin::Trainer& trainer, const std::shared_ptr<HiddenByConst>& module) { trainer.fit(module); }

// expect: a class has a function on_fit_end with other parameters
struct HiddenInCallback : levin::Callback {
  void on_fit_end() {}
};
void hidden_in_callback(levin::TrainerOptions& options) { options.callbacks = {HiddenInCallback()}; }

// expect: a class has a function is_monitoring with other parameters
struct HiddenOfCallback : levin::Callback {
  bool is_monitoring() { return true; }
};
void hidden_of_callback(levin::TrainerOptions& options) { options.callbacks = {HiddenOfCallback()}; }

// expect: a class has a function setup with other parameters
// expect: write: void setup(Stage) override
struct HiddenInData : data::DataModule {
  void setup() {}
};
void hidden_in_data(levin::Trainer& trainer, Right& module, HiddenInData& data) { trainer.fit(module, data); }

// expect: a class has a function train_dataloader with other parameters
struct HiddenStatic : data::DataModule {
  static data::Loaders train_dataloader(int64_t) { return {}; }
};
void hidden_static(levin::Trainer& trainer, Right& module, HiddenStatic& data) { trainer.fit(module, data); }

// expect: loaders were expected, this is a dataset; write levin::data::DataLoader(dataset, {.batch_size = 32
void dataset_for_loader(levin::Trainer& trainer, Right& module) {
  trainer.fit(module, data::TensorDataset(at::Tensor()));
}
void dataset_by_pointer(levin::Trainer& trainer, Right& module, const data::DatasetPtr& set) {
  trainer.fit(module, set);
}

// expect: a class has a function get with other parameters, which hides that of Dataset
// expect: write: Batch get(int64_t index, Rng& rng) const override
struct ChangingDataset : data::Dataset {
  int64_t size() const override { return 1; }
  levin::Batch get(int64_t, data::Rng&) { return {}; }
};
data::DataLoader changing_dataset() { return data::DataLoader(ChangingDataset(), {.batch_size = 1}); }

// expect: a class has a function get_batch with other parameters
struct ChangingBatches : data::Dataset {
  int64_t size() const override { return 1; }
  void get_batch(const data::Indices&, levin::Batch&) {}
};
data::DataLoader changing_batches() { return data::DataLoader(std::make_shared<ChangingBatches>()); }

// expect: a LightningModule was expected, this is a torch::nn::Module; give it a loss: levin::wrap(net,
void plain_module(levin::Trainer& trainer) {
  torch::nn::Sequential net(torch::nn::Linear(2, 2));
  trainer.fit(net);
}
void plain_module_by_pointer(levin::Trainer& trainer, const std::shared_ptr<torch::nn::Module>& net) {
  trainer.fit(net);
}
void plain_module_by_reference(levin::Trainer& trainer, torch::nn::Module& net) { trainer.fit(net); }

// expect: a module that is a temporary would be gone after the call
void temporary_module(levin::Trainer& trainer) { trainer.fit(Right()); }

// expect: LibTorch's own schedulers keep a reference to their optimizer
struct TorchSchedule : levin::LightningModule {
  levin::OptimizerConfig configure_optimizers() override {
    torch::optim::SGD optimizer(parameters(), 0.1);
    return {optimizer, torch::optim::StepLR(optimizer, 1)};
  }
};

struct Logging : levin::LightningModule {
  void validation_step(const levin::Batch& batch, int64_t) override {
    // expect: the logarithm is std::log or torch::log
    log(2.0);
    log(batch.input());
    // expect: log takes the name first
    log(2.0, "loss");
    // expect: log takes a tensor with one element, a number, or a metric
    log("several", std::vector<double>{1, 2});
  }
};

// expect: a struct that is a batch needs `B to(c10::Device device) const`
struct Boxes {
  at::Tensor images;
  int64_t size() const { return images.size(0); }
};
levin::Batch without_to() { return Boxes{at::Tensor()}; }
const Boxes& read_without_to(const levin::Batch& batch) { return batch.as<Boxes>(); }

// expect: a struct that is a batch needs `int64_t size() const`
struct Pairs {
  at::Tensor first, second;
};
levin::Batch without_size() { return Pairs{at::Tensor(), at::Tensor()}; }

#endif
