// A resumed run ends as the run that was never stopped: to the bit, and with the same rows.
#include <levin/core/state/state_file.h>
#include <levin/levin.h>

#include "tests/catch.h"
#include "tests/trainer/checkpoint/save_in_hook.h"

namespace fs = std::filesystem;

namespace {

/// The hooks of a fit, and how often each is called in a run of `resumable`, at least.
using Hooks = std::vector<std::pair<levin::Hook, std::vector<int>>>;
const Hooks kHooks = {
    {levin::Hook::on_fit_start, {1}},
    {levin::Hook::on_sanity_check_end, {1}},
    {levin::Hook::on_train_start, {1}},
    {levin::Hook::on_train_epoch_start, {1, 2}},
    {levin::Hook::on_train_batch_start, {1, 5, 8, 12}},
    {levin::Hook::on_before_zero_grad, {2, 4}},
    {levin::Hook::on_before_backward, {5}},
    {levin::Hook::on_after_backward, {10}},
    {levin::Hook::on_before_optimizer_step, {2}},
    {levin::Hook::on_train_batch_end, {1, 2, 3, 5, 8, 9, 13, 24}},
    {levin::Hook::on_validation_start, {3}},
    {levin::Hook::on_validation_epoch_start, {3}},
    {levin::Hook::on_validation_batch_start, {7}},
    {levin::Hook::on_validation_batch_end, {5, 7, 8, 9, 10, 12}},
    {levin::Hook::on_validation_epoch_end, {2, 3}},
    {levin::Hook::on_validation_end, {2, 4}},
    {levin::Hook::on_train_epoch_end, {1, 2, 3}},
    {levin::Hook::on_train_end, {1}},
    {levin::Hook::on_fit_end, {1}},
};

/// Hooks inside windows and between them, where scales, accumulated gradients and master weights differ.
const Hooks kHooksOfPrecisions = {{levin::Hook::on_after_backward, {10}},
                                  {levin::Hook::on_before_optimizer_step, {2}},
                                  {levin::Hook::on_train_batch_end, {2, 9}},
                                  {levin::Hook::on_validation_batch_end, {7}}};

void check_hooks(
    const Hooks& hooks, const Learner::Options& model,
    const std::function<void(levin::TrainerOptions&)>& change = [](levin::TrainerOptions&) {}) {
  const TemporaryFolder folder;
  const auto resumable_in = [&](const fs::path& root) {
    levin::TrainerOptions options = resumable(root);
    change(options);
    return options;
  };
  const Ended unbroken = train(resumable_in(folder / "unbroken"), model);
  REQUIRE(unbroken.rows.size() > 10);
  int number = 0;
  for (const auto& [hook, calls] : hooks)
    for (const int call : calls) {
      const std::string name = std::to_string(number++);
      INFO("hook " << static_cast<int>(hook) << ", call " << call);
      const fs::path file = folder / (name + ".ckpt");
      levin::TrainerOptions saving = resumable_in(folder / ("saving" + name));
      const auto save = std::make_shared<SaveInHook>(hook, call, file);
      saving.callbacks = {save};
      const Ended saved = train(saving, model);
      REQUIRE(save->asked());
      // Saving changes nothing.
      CHECK(first_difference(saved.weights, unbroken.weights) == "");
      CHECK(saved.rows == unbroken.rows);
      REQUIRE(fs::exists(file));

      // Another module, which starts from other weights.
      const Ended resumed = train(resumable_in(folder / ("resumed" + name)), model, file.string(), /*initial_seed=*/99);
      CHECK(first_difference(resumed.weights, unbroken.weights) == "");
      REQUIRE(resumed.rows.size() <= unbroken.rows.size());
      const std::vector<std::string> tail(unbroken.rows.end() - static_cast<std::ptrdiff_t>(resumed.rows.size()),
                                          unbroken.rows.end());
      CHECK(resumed.rows == tail);
      CHECK(resumed.result.global_step == unbroken.result.global_step);
      CHECK(resumed.result.epochs == unbroken.result.epochs);
    }
}

}  // namespace

TEST_CASE("a run resumed from a save in any hook ends as the unbroken one") { check_hooks(kHooks, {}); }

TEST_CASE("a run whose scheduler follows a metric, resumed from a save in any hook, ends as the unbroken one") {
  check_hooks(kHooks, {.plateau = true});
}

TEST_CASE("a run in other precisions resumes with its scaler, master weights and accumulated gradients") {
  check_hooks(kHooksOfPrecisions, {}, [](levin::TrainerOptions& options) { options.precision = 16; });
  check_hooks(kHooksOfPrecisions, {}, [](levin::TrainerOptions& options) {
    options.precision = 16;
    options.amp_level = "O2";
  });
  check_hooks(kHooksOfPrecisions, {}, [](levin::TrainerOptions& options) { options.precision = "bf16-true"; });
}

TEST_CASE("a run that is resumed at its end, where nothing is left to train, saves what was saved before") {
  const TemporaryFolder folder;
  const auto places = [&](const std::string& name, const std::string& ckpt_path) {
    levin::Trainer trainer(resumable(folder / name));
    Learner module;
    Points data;
    trainer.fit(module, data, ckpt_path);
    trainer.save_checkpoint(folder / (name + ".ckpt"));
    const levin::State saved = levin::load_state(folder / (name + ".ckpt"));
    const levin::State& rank = saved.at("levin").at("ranks").items()[0];
    return levin::save_state_bytes(levin::State::list({rank.at("train_loader"), rank.at("rng")}));
  };
  const std::string ended = places("ended", "");
  CHECK(places("resumed", (folder / "ended.ckpt").string()) == ended);
}
