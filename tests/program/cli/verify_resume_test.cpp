#include <levin/program/commands/verify_resume.h>
#include <levin/levin.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/run_options.h>

#include <sstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

namespace {

/// A module whose loss depends on a number that no checkpoint holds, unless `remembers` is set.
struct Forgetful : levin::LightningModule {
  struct Options {
    bool remembers = LEVIN_OPTION(remembers, true, "Put the number into checkpoints");
    bool counts_runs = LEVIN_OPTION(counts_runs, false, "Let the loss depend on how many modules were made before");
  };
  explicit Forgetful(Options options_)
      : options(options_), layer(register_module("layer", torch::nn::Linear(784, 10))) {
    static int64_t made = 0;
    made += 1;
    if (options.counts_runs) factor = static_cast<double>(made);
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    steps += 1;
    const auto loss = torch::nn::functional::cross_entropy(layer(batch.input().flatten(1)), batch.target());
    log("train_loss", loss);
    return factor * loss / static_cast<double>(steps);
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }
  void on_save_checkpoint(levin::Run&, levin::State& checkpoint) override {
    if (options.remembers) checkpoint["steps"] = steps;
  }
  void on_load_checkpoint(levin::Run&, const levin::State& checkpoint) override {
    if (options.remembers) steps = checkpoint.at("steps").to_int();
  }

  Options options;
  torch::nn::Linear layer;
  int64_t steps = 0;
  double factor = 1;
};
LEVIN_REGISTER_MODULE(Forgetful);

/// Returns whether all was equal, and the printed text.
std::pair<bool, std::string> verified(const std::string& model, int64_t steps = 8,
                                      const std::string& callbacks = "[]") {
  const TemporaryFolder folder;
  write_bytes(folder / "config.json",
              R"({"trainer": {"accumulate_grad_batches": 2, "limit_val_batches": 2, "log_every_n_steps": 1,
    "callbacks": )" +
                  callbacks + R"(}, "model": )" + model +
                  R"(, "data": {"class": "SyntheticDigits", "train_size": 320, "val_size": 64}})");
  const auto line = levin::cli::read_command_line(levin::schema_of<levin::cli::RunOptions>(), "fit",
                                                  {"--config", (folder / "config.json").string()});
  std::ostringstream out;
  const bool equal = levin::cli::verify_resume(out, line.config, steps);
  return {equal, out.str()};
}

}  // namespace

TEST_CASE("verify-resume finds a module equal that saves all its state") {
  const auto [equal, text] = verified(R"({"class": "Forgetful"})");
  INFO(text);
  CHECK(equal);
  CHECK(contains(text, "8 steps (unbroken.ckpt), and again with a stop after 4"));
  CHECK(contains(text, "no difference in"));
}

TEST_CASE("verify-resume does not compare what callbacks measure of the machine") {
  const auto [equal, text] =
      verified(R"({"class": "Forgetful"})", 4, R"([{"class": "DeviceStatsMonitor", "every_n_steps": 1},
    {"class": "ThroughputMonitor", "window_size": 2}])");
  INFO(text);
  CHECK(equal);
}

TEST_CASE("verify-resume finds a number that no checkpoint holds by what it changes") {
  const auto [equal, text] = verified(R"({"class": "Forgetful", "remembers": false})");
  INFO(text);
  CHECK_FALSE(equal);
  CHECK(contains(text, "layer.weight"));
  CHECK(contains(text, "on_save_checkpoint"));
}

TEST_CASE("verify-resume says if two unbroken runs differ, for then nothing is known about resuming") {
  const auto [equal, text] = verified(R"({"class": "Forgetful", "counts_runs": true})");
  INFO(text);
  CHECK_FALSE(equal);
  CHECK(contains(text, "layer.weight"));
  CHECK(contains(text, "Two unbroken runs differ"));
  CHECK_FALSE(contains(text, "on_save_checkpoint"));
}

TEST_CASE("verify-resume finds a model with BatchNorm, AdamW and a schedule over all steps equal") {
  const auto [equal, text] = verified(
      R"({"class": "ImageClassifier", "net": "mlp_bn", "optimizer": {"class": "AdamW", "lr": 0.01},
          "lr_scheduler": {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": "auto", "interval": "step"}})",
      12);
  INFO(text);
  CHECK(equal);
}
