#include <levin/levin.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::testing::ProgramRun;
using levin::testing::run_program;
using nlohmann::ordered_json;

namespace {

/// Digits whose module runs out of memory above 40 samples.
struct TunedDigits : levin::LightningModule {
  struct Options {
    levin::ClassChoice<levin::optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"SGD"}, "Optimizer");
  };
  explicit TunedDigits(Options o) : options(std::move(o)), net(register_module("net", torch::nn::Linear(784, 10))) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    TORCH_CHECK_WITH(OutOfMemoryError, batch.size() <= 40, "planted: out of memory");
    return torch::nn::functional::cross_entropy(net->forward(batch.input().flatten(1)), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::make_optimizer(options.optimizer, "model.optimizer", parameters());
  }
  Options options;
  torch::nn::Linear net;
};
LEVIN_REGISTER_MODULE(TunedDigits);

/// A module without a rate among its options.
struct NoRate : levin::LightningModule {};

std::vector<std::string> fit_of(const TemporaryFolder& folder, const std::string& name) {
  return {"fit",
          "--model.class",
          "TunedDigits",
          "--model.optimizer.class",
          "SGD",
          "--model.optimizer.momentum",
          "0.9",
          "--data.class",
          "SyntheticDigits",
          "--data.train_size",
          "400",
          "--data.val_size",
          "20",
          "--data.batch_size",
          "10",
          "--max-epochs",
          "2",
          "--seed",
          "3",
          "--enable-progress-bar",
          "false",
          "--enable-model-summary",
          "false",
          "--default-root-dir",
          folder.path().string(),
          "--name",
          name};
}

std::vector<std::string> plus(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ordered_json config_of(const TemporaryFolder& folder, const std::string& run) {
  return ordered_json::parse(std::ifstream(folder / run / "config.json"));
}

}  // namespace

TEST_CASE("levin fit searches first, and writes what it found into config.json, which runs again to the bit") {
  const TemporaryFolder folder;
  const ProgramRun tuned =
      run_program(plus(fit_of(folder, "tuned"), {"--auto-lr-find", "true", "--auto-scale-batch-size", "power"}));
  INFO(tuned.err);
  REQUIRE(tuned.code == 0);
  const ordered_json config = config_of(folder, "tuned/version_0");
  CHECK(config["data"]["batch_size"] == 32);
  const auto found = ordered_json::parse(std::ifstream(folder / "tuned" / "lr_find.json"));
  CHECK(config["model"]["optimizer"]["lr"] == found["suggestion"]);
  CHECK(config["model"]["optimizer"]["momentum"] == 0.9);
  CHECK(config["trainer"]["auto_lr_find"] == false);
  CHECK(config["trainer"]["auto_scale_batch_size"].is_null());
  CHECK_FALSE(std::filesystem::exists(folder / "tuned" / "version_1"));

  const ProgramRun again = run_program({"fit", "--config", (folder / "tuned" / "version_0" / "config.json").string()});
  INFO(again.err);
  REQUIRE(again.code == 0);
  const auto weights = [&](const char* run) {
    return levin::load_state_dict_file(folder / "tuned" / run / "weights.pt").at("net.weight").to_tensor();
  };
  CHECK(torch::equal(weights("version_0"), weights("version_1")));

  // A resumed run keeps the values that were found.
  const ProgramRun goes_on =
      run_program(plus(fit_of(folder, "tuned"), {"--auto-lr-find", "true", "--auto-scale-batch-size", "power",
                                                 "--max-epochs", "3", "--ckpt-path", "last"}));
  INFO(goes_on.err);
  REQUIRE(goes_on.code == 0);
  CHECK(config_of(folder, "tuned/version_1")["model"]["optimizer"]["lr"] == found["suggestion"]);
  CHECK(config_of(folder, "tuned/version_1")["data"]["batch_size"] == 32);
}

TEST_CASE("levin fit scales the rate with the batch size") {
  const TemporaryFolder folder;
  const ProgramRun run =
      run_program(plus(fit_of(folder, "scaled"), {"--auto-scale-batch-size", "binsearch", "--scale-lr", "linear",
                                                  "--model.optimizer.lr", "0.01"}));
  INFO(run.err);
  REQUIRE(run.code == 0);
  const ordered_json config = config_of(folder, "scaled/version_0");
  CHECK(config["data"]["batch_size"] == 38);
  CHECK(config["model"]["optimizer"]["lr"].get<double>() == Approx(0.038));
  CHECK(config["trainer"]["scale_lr"].is_null());
}

TEST_CASE("levin fit refuses to search for what the config cannot hold") {
  const TemporaryFolder folder;
  levin::add_module<NoRate>(levin::ModuleKind::registry(), "NoRate");
  const ProgramRun run = run_program({"fit", "--model.class", "NoRate", "--data.class", "SyntheticDigits",
                                      "--auto-lr-find", "true", "--default-root-dir", folder.path().string()});
  CHECK(run.code == 2);
  CHECK(run.err.find("trainer.auto_lr_find: the config has no learning rate to change; looked for model.optimizer.lr, "
                     "model.lr, model.learning_rate") != std::string::npos);
}
