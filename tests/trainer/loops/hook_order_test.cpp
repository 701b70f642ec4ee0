// The order of hooks, case by case, as PyTorch Lightning was recorded to call them (tests/parity/lightning_hooks.json).
#include <levin/levin.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

using levin::Run;
using levin::State;
using Calls = std::vector<std::string>;

struct SpyCallback : levin::Callback {
  explicit SpyCallback(Calls& calls_) : calls(&calls_) {}
#define X(hook, parameters) \
  void hook parameters override { calls->push_back(std::string("c.") + #hook); }
  LEVIN_FOR_EACH_HOOK(X)
#undef X
  State state_dict() const override {
    calls->push_back("c.state_dict");
    return {};
  }
  Calls* calls;
};

struct SpyModule : levin::LightningModule {
  explicit SpyModule(Calls& calls_) : calls(&calls_), layer(register_module("layer", torch::nn::Linear(4, 2))) {}

  void record(const char* name) { calls->push_back(std::string("m.") + name); }

  // PyTorch Lightning's module has no on_sanity_check_start, on_sanity_check_end and on_exception; levin's has.
#define X(hook, parameters)                                                             \
  void hook parameters override {                                                       \
    const std::string name = #hook;                                                     \
    if (name.rfind("on_sanity_check", 0) != 0 && name != "on_exception") record(#hook); \
  }
  LEVIN_FOR_EACH_HOOK(X)
#undef X

  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    record("training_step");
    return layer(batch.input()).pow(2).mean();
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    record("validation_step");
    log("val_loss", layer(batch.input()).sum());
  }
  void test_step(const levin::Batch&, int64_t) override { record("test_step"); }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
    record("predict_step");
    return layer(batch.input());
  }
  levin::OptimizerConfig configure_optimizers() override {
    record("configure_optimizers");
    return {torch::optim::SGD(parameters(), 0.1), levin::StepLR({.step_size = 1})};
  }
  std::vector<levin::CallbackEntry> configure_callbacks() override {
    record("configure_callbacks");
    return {};
  }
  void configure_model() override { record("configure_model"); }
  void prepare_data() override { record("prepare_data"); }
  void optimizer_step(levin::LightningOptimizer& optimizer, const levin::Closure& closure) override {
    record("optimizer_step");
    LightningModule::optimizer_step(optimizer, closure);
  }
  void backward(const torch::Tensor& loss) override {
    record("backward");
    LightningModule::backward(loss);
  }
  void optimizer_zero_grad(levin::LightningOptimizer& optimizer) override {
    record("optimizer_zero_grad");
    LightningModule::optimizer_zero_grad(optimizer);
  }
  void configure_gradient_clipping(levin::LightningOptimizer& optimizer, std::optional<double> value,
                                   levin::GradientClipAlgorithm algorithm) override {
    record("configure_gradient_clipping");
    LightningModule::configure_gradient_clipping(optimizer, value, algorithm);
  }
  void lr_scheduler_step(levin::LRScheduler& scheduler, std::optional<double> metric) override {
    record("lr_scheduler_step");
    LightningModule::lr_scheduler_step(scheduler, metric);
  }
#define LEVIN_RECORD_MODE(mode) \
  void mode() override {        \
    record(#mode);              \
    LightningModule::mode();    \
  }
  LEVIN_RECORD_MODE(on_validation_model_zero_grad)
  LEVIN_RECORD_MODE(on_validation_model_eval)
  LEVIN_RECORD_MODE(on_validation_model_train)
#undef LEVIN_RECORD_MODE
  // The defaults of these call the validation hooks, which would be recorded too.
  void on_test_model_eval() override { record("on_test_model_eval"); }
  void on_test_model_train() override { record("on_test_model_train"); }
  void on_predict_model_eval() override { record("on_predict_model_eval"); }

  Calls* calls;
  torch::nn::Linear layer;
};

struct SpyData : levin::data::DataModule {
  explicit SpyData(Calls& calls_) : calls(&calls_) {}
  void record(const char* name) { calls->push_back(std::string("d.") + name); }
  void prepare_data() override { record("prepare_data"); }
  void setup(levin::Stage) override { record("setup"); }
  void teardown(levin::Stage) override { record("teardown"); }
  levin::data::Loaders loader(const char* name) {
    record(name);
    std::vector<levin::Batch> batches;
    for (int i = 0; i < 4; ++i) batches.emplace_back(torch::ones({2, 4}));
    return batches;
  }
  levin::data::Loaders train_dataloader() override { return loader("train_dataloader"); }
  levin::data::Loaders val_dataloader() override { return loader("val_dataloader"); }
  levin::data::Loaders test_dataloader() override { return loader("test_dataloader"); }
  levin::data::Loaders predict_dataloader() override { return loader("predict_dataloader"); }
  levin::Batch on_before_batch_transfer(levin::Batch batch, int64_t) override {
    record("on_before_batch_transfer");
    return batch;
  }
  levin::Batch transfer_batch_to_device(levin::Batch batch, torch::Device device, int64_t) override {
    record("transfer_batch_to_device");
    return batch.to(device);
  }
  levin::Batch on_after_batch_transfer(levin::Batch batch, int64_t) override {
    record("on_after_batch_transfer");
    return batch;
  }
  State state_dict() const override {
    calls->push_back("d.state_dict");
    return {};
  }
  Calls* calls;
};

struct StopAfterBatch : levin::Callback {
  void on_train_batch_end(levin::Run& run) override { run.request_stop("enough"); }
};
struct ThrowAfterBatch : levin::Callback {
  void on_train_batch_end(levin::Run&) override { throw std::runtime_error("boom"); }
};

levin::TrainerOptions options_of(const nlohmann::json& json) {
  levin::TrainerOptions options;
  const auto integer = [&](const char* key, auto& field) {
    if (json.contains(key)) field = json.at(key).get<int64_t>();
  };
  integer("max_epochs", options.max_epochs);
  integer("max_steps", options.max_steps);
  integer("limit_train_batches", options.limit_train_batches);
  integer("limit_val_batches", options.limit_val_batches);
  integer("num_sanity_val_steps", options.num_sanity_val_steps);
  integer("accumulate_grad_batches", options.accumulate_grad_batches);
  integer("val_check_interval", options.val_check_interval);
  if (json.contains("gradient_clip_val")) options.gradient_clip_val = json.at("gradient_clip_val").get<double>();
  if (json.contains("fast_dev_run")) options.fast_dev_run = json.at("fast_dev_run").get<bool>();
  options.enable_checkpointing = json.value("enable_checkpointing", false);
  options.limit_test_batches = 2;
  options.limit_predict_batches = 2;
  options.enable_progress_bar = false;
  options.logger = false;
  return options;
}

}  // namespace

TEST_CASE("hooks are called in PyTorch Lightning's order") {
  nlohmann::json recorded;
  std::ifstream(LEVIN_SOURCE_DIR "/tests/parity/lightning_hooks.json") >> recorded;
  size_t compared = 0;
  for (const auto& item : recorded.items()) {
    const std::string name = item.key();
    const nlohmann::json& expected = item.value();
    if (!expected.is_object()) continue;
    INFO(name);
    Calls calls;
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_of(expected.at("options"));
    options.default_root_dir = folder.path().string();
    options.callbacks = {SpyCallback(calls)};
    if (name == "fit_stop_in_batch_end") options.callbacks.push_back(StopAfterBatch());
    if (name == "fit_exception_in_batch_end") options.callbacks.push_back(ThrowAfterBatch());

    SpyModule module(calls);
    SpyData data(calls);
    levin::Trainer trainer(options);
    const std::string entry = expected.at("entry");
    if (entry == "fit" && expected.contains("failed")) {
      CHECK_THROWS_WITH(trainer.fit(module, data), "boom");
    } else if (entry == "fit") {
      CHECK(trainer.fit(module, data).global_step == expected.at("global_step").get<int64_t>());
    } else if (entry == "validate") {
      trainer.validate(module, data);
    } else if (entry == "test") {
      trainer.test(module, data);
    } else {
      REQUIRE(entry == "predict");
      trainer.predict(module, data);
    }
    CHECK(calls == expected.at("calls").get<Calls>());
    ++compared;
  }
  CHECK(compared == 15);
}
