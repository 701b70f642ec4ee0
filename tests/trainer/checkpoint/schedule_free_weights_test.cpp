#include <levin/levin.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

using levin::UsageError;

namespace {

struct ScheduleFreeModule : ToyModule {
  ScheduleFreeModule() {
    optimizers_of = [](ToyModule& module) {
      return levin::OptimizerConfig(levin::optim::ScheduleFreeAdamW(module.parameters(), {.lr = 0.05}));
    };
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    validated = copies(parameters());
    log("val_loss", loss_of(batch));
  }
  std::vector<at::Tensor> validated = {};
};

struct Ran {
  std::vector<at::Tensor> weights = {}, validated = {};
  std::string last = {};  ///< the run's checkpoint
};

Ran train(const TemporaryFolder& folder, int64_t epochs, const std::string& checkpoint = "", double val_check = 0.5) {
  torch::manual_seed(3);
  ScheduleFreeModule module;
  auto options = quiet(folder);
  options.max_epochs = epochs;
  if (val_check > 0) options.val_check_interval = val_check;
  levin::Trainer trainer(options);
  const ToyData data(32);
  const auto loader = data.loader(4);
  const levin::RunResult result =
      trainer.fit(module, loader, val_check > 0 ? levin::data::Loaders(loader) : levin::data::Loaders(), checkpoint);
  return {copies(module.parameters()), module.validated, (result.folder / "checkpoints" / "last.ckpt").string()};
}

/// The same training in a loop: the weights that are trained, y, and the averages, x.
std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>> in_a_loop(int64_t epochs) {
  torch::manual_seed(3);
  ScheduleFreeModule module;
  levin::optim::ScheduleFreeAdamW optimizer(module.parameters(), {.lr = 0.05});
  const ToyData data(32);
  for (int64_t i = 0; i < epochs * 8; ++i) {
    optimizer.zero_grad();
    const int64_t at = i % 8 * 4;
    module.loss_of(levin::Batch(data.input.narrow(0, at, 4), data.target.narrow(0, at, 4))).backward();
    optimizer.step();
  }
  std::vector<at::Tensor> trained = copies(module.parameters());
  optimizer.use_averages();
  return {trained, copies(module.parameters())};
}

std::vector<at::Tensor> weights_in(const levin::State& checkpoint, const char* key) {
  std::vector<at::Tensor> all;
  for (const auto& item : ScheduleFreeModule().named_parameters())
    all.push_back(checkpoint.at(key).at(item.key()).to_tensor());
  return all;
}

}  // namespace

TEST_CASE("a fit with schedule-free AdamW validates, saves and ends with the averages, and trains the others") {
  const TemporaryFolder folder;
  const Ran ran = train(folder, 2);
  const auto [trained, averages] = in_a_loop(2);
  CHECK(largest_difference(trained, averages) > 1e-4);
  CHECK(bit_equal(ran.weights, averages));
  CHECK(bit_equal(ran.validated, averages));
  const levin::State last = levin::load_state(ran.last);
  CHECK(bit_equal(weights_in(last, "state_dict"), averages));
  CHECK(bit_equal(weights_in(last, "current_model_state"), trained));
}

TEST_CASE("a fit with schedule-free AdamW resumes to the bit") {
  const TemporaryFolder whole, parts;
  const Ran once = train(whole, 3);
  const Ran first = train(parts, 1), resumed = train(parts, 3, first.last);
  CHECK(bit_equal(resumed.weights, once.weights));
  CHECK(bit_equal(resumed.validated, once.validated));
  const TemporaryFolder unvalidated;
  CHECK(bit_equal(train(unvalidated, 3, "", 0).weights, once.weights));
}

TEST_CASE("averages of callbacks beside those of schedule-free AdamW are refused") {
  const TemporaryFolder folder;
  ScheduleFreeModule module;
  auto options = quiet(folder);
  options.max_epochs = 1;
  options.callbacks = {levin::EMAWeightAveraging()};
  levin::Trainer trainer(options);
  const auto loader = ToyData(8).loader(4);
  CHECK(contains(error_text<UsageError>([&] { trainer.fit(module, loader); }),
                 "ScheduleFreeAdamW averages the weights itself"));
}
