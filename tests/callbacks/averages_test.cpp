// Averages that begin late, never, or over parameters that have no mean.
#include <nlohmann/json.hpp>

#include "tests/callbacks/backbone_net.h"
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kBatchesOfEpoch = 5, kEpochs = 4;

struct Ended {
  std::vector<torch::Tensor> values;  ///< parameters and buffers
  levin::RunResult result;
};

/// Trains a new network from the same weights; `callback`: its options, or null for none.
Ended trained(const Json& callback, const std::string& ckpt_path = "", const std::string& options_of = "saved",
              const std::vector<levin::CallbackEntry>& more = {}) {
  const TemporaryFolder folder;
  const ToyData data(8 * kBatchesOfEpoch), validation(16);
  levin::TrainerOptions options = quiet(folder);
  if (!callback.is_null())
    levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", {{"callbacks", Json::array({callback})}});
  options.callbacks.insert(options.callbacks.end(), more.begin(), more.end());
  options.max_epochs = kEpochs;
  options.enable_checkpointing = false;
  options.resume_optimizer_options = options_of;
  torch::manual_seed(3);
  BackboneNet net(/*head_only=*/false, 0.9);
  Ended ended;
  ended.result = levin::Trainer(options).fit(net, data.loader(8), validation.loader(8), ckpt_path);
  ended.values = copies(net.parameters());
  for (const auto& buffer : net.buffers()) ended.values.push_back(buffer.clone());
  return ended;
}

std::string warnings_of(const Ended& ended) {
  std::string all;
  for (const std::string& warning : ended.result.warnings) all += warning + "\n";
  return all;
}

}  // namespace

TEST_CASE("averages that never begin change nothing, and say so") {
  const Ended without = trained(nullptr);
  for (const char* text :
       {R"({"class": "EMAWeightAveraging", "update_starting_at_step": 1000})",
        R"({"class": "EMAWeightAveraging", "update_every_n_steps": 0, "update_starting_at_epoch": 1000})",
        R"({"class": "EMAWeightAveraging", "update_every_n_steps": 0})",
        R"({"class": "StochasticWeightAveraging", "swa_lrs": 0.01, "swa_epoch_start": 1000})"}) {
    const Json callback = Json::parse(text);
    INFO(callback.dump());
    const CapturedStderr captured;
    const Ended with = trained(callback);
    CHECK(bit_equal(with.values, without.values));
    CHECK(with.result.metrics.at("val_loss") == without.result.metrics.at("val_loss"));
    CHECK(with.result.epochs == kEpochs);
    CHECK(contains(warnings_of(with), callback["class"].get<std::string>()));
  }
}

TEST_CASE("the epoch that averages batch norms does not count as one of the fit") {
  const Ended ended = trained(Json::parse(
      R"({"class": "StochasticWeightAveraging", "swa_lrs": 0.01, "swa_epoch_start": 2, "annealing_epochs": 1})"));
  CHECK(ended.result.epochs == kEpochs);
  CHECK(ended.result.global_step == kEpochs * kBatchesOfEpoch);
}

TEST_CASE("averages are resumed with present options that are those before, as with saved ones") {
  struct SaveAt : levin::Callback {
    explicit SaveAt(std::filesystem::path file_) : file(std::move(file_)) {}
    void on_train_batch_end(levin::Run& run) override {
      if (run.state().batches_seen == 13) run.save_checkpoint(file);
    }
    std::filesystem::path file;
  };
  const TemporaryFolder folder;
  for (const char* text :
       {R"({"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 2, "annealing_epochs": 0})",
        R"({"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 2, "annealing_epochs": 2})",
        R"({"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 4, "annealing_epochs": 0})"}) {
    const Json callback = Json::parse(text);
    INFO(text);
    const std::filesystem::path file = std::filesystem::absolute(folder / "middle.ckpt");
    const Ended unbroken = trained(callback, "", "saved", {SaveAt(file)});
    CHECK(bit_equal(trained(callback, file.string()).values, unbroken.values));
    CHECK(largest_difference(trained(callback, file.string(), "present").values, unbroken.values) < 1e-6);
  }
}

TEST_CASE("a rate that another callback has set is kept when averages at a fixed rate are resumed") {
  // A group that joins in a later epoch has a rate of its own.
  struct Joins : levin::BaseFinetuning {
    void freeze_before_training(levin::LightningModule& module) override {
      freeze(static_cast<BackboneNet&>(module).backbone);
    }
    void finetune_function(levin::LightningModule& module, int64_t epoch, torch::optim::Optimizer& optimizer) override {
      if (epoch == 2)
        unfreeze_and_add_param_group(*static_cast<BackboneNet&>(module).backbone, optimizer, 0.003, 10, true);
    }
    void freeze(torch::nn::Sequential& backbone) { levin::BaseFinetuning::freeze(*backbone, /*train_bn=*/false); }
  };
  struct Rates : levin::Callback {
    explicit Rates(std::filesystem::path file_) : file(std::move(file_)) {}
    void on_train_batch_end(levin::Run& run) override {
      if (run.state().batches_seen == 13 && !file.empty()) run.save_checkpoint(file);
      if (run.state().batches_seen != 14) return;
      for (const auto& group : run.optimizers()[0]->param_groups()) rates.push_back(group.options().get_lr());
    }
    std::filesystem::path file;
    std::vector<double> rates;
  };
  const TemporaryFolder folder;
  const std::filesystem::path file = std::filesystem::absolute(folder / "middle.ckpt");
  const auto fit = [&](const std::string& from) {
    const ToyData data(8 * kBatchesOfEpoch);
    levin::TrainerOptions options = quiet(folder);
    const auto rates = std::make_shared<Rates>(from.empty() ? file : std::filesystem::path());
    options.callbacks = {
        levin::StochasticWeightAveraging({.swa_lrs = 0.02, .swa_epoch_start = 2, .annealing_epochs = 0}), Joins(),
        rates};
    options.max_epochs = kEpochs;
    options.enable_checkpointing = false;
    torch::manual_seed(3);
    BackboneNet net(/*head_only=*/true, 1);
    levin::Trainer(options).fit(net, data.loader(8), {}, from);
    return rates->rates;
  };
  const std::vector<double> unbroken = fit("");
  CHECK(unbroken == std::vector<double>{0.02, 0.003});
  CHECK(fit(file.string()) == unbroken);
}

TEST_CASE("parameters that have no mean are copied into averages") {
  struct Mixed : ToyModule {
    torch::Tensor counts = register_parameter("counts", torch::tensor({1, 2}), /*requires_grad=*/false);
    torch::Tensor mask = register_parameter("mask", torch::tensor({true, false}), /*requires_grad=*/false);
    void on_train_batch_end(levin::Run&) override {
      const torch::NoGradGuard no_grad;
      counts.add_(1);
      mask.logical_not_();
    }
    levin::OptimizerConfig configure_optimizers() override {
      return levin::optim::SGD(net->parameters(), {.lr = 0.05});
    }
  };
  const ToyData data(40);
  for (const levin::CallbackEntry& averaging : {levin::CallbackEntry(levin::EMAWeightAveraging({.decay = 0.5})),
                                                levin::CallbackEntry(levin::StochasticWeightAveraging(
                                                    {.swa_lrs = 0.05, .swa_epoch_start = 1, .annealing_epochs = 0}))}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 2;
    options.callbacks = {averaging};
    Mixed module;
    levin::Trainer(options).fit(module, data.loader(8));
    CHECK(module.counts.scalar_type() == torch::kLong);
    CHECK(module.counts[0].item<int64_t>() > 1);
    CHECK(module.mask.scalar_type() == torch::kBool);
  }
}
