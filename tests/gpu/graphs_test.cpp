// Steps that are captured in CUDA graphs and replayed.
#include <levin/core/state/state_file.h>

#include <cmath>

#include "tests/gpu/training.h"

namespace {

/// A run with graphs, and one without.
void graphs_end_as_eager(levin::TrainerOptions options) {
  options.accumulate_grad_batches = 1;
  options.max_epochs = 6;
  const ToyData data(53);  // the last batch is short
  const auto expected = train(options, data.loader(8));
  options.cuda_graphs = true;
  CHECK(largest_difference(train(options, data.loader(8)), expected) < 1e-5);
}

}  // namespace

TEST_CASE("steps captured in graphs end as those that are not", "[graphs]") {
  const TemporaryFolder folder;
  graphs_end_as_eager(on(folder, "gpu"));
  levin::TrainerOptions mixed = on(folder, "gpu");
  mixed.precision = "bf16-mixed";
  graphs_end_as_eager(mixed);
  mixed.precision = "16-mixed";
  graphs_end_as_eager(mixed);
}

TEST_CASE("a captured step draws the random numbers of one that is not", "[graphs]") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = single_steps(folder);
  options.seed = 3;
  const ToyData data(64);
  const auto expected = train<Dropping>(options, data.loader(8));
  options.cuda_graphs = true;
  CHECK(largest_difference(train<Dropping>(options, data.loader(8)), expected) < 1e-5);
}

TEST_CASE("a step that a graph cannot hold is refused by name", "[graphs]") {
  struct Waits : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto loss = loss_of(batch);
      return loss * (loss.item<double>() > 0 ? 1.0 : 2.0);
    }
  };
  struct Hooked : ToyModule {
    void on_after_backward(levin::Run&) override {}
  };
  const ToyData data(64);
  const TemporaryFolder folder;
  levin::TrainerOptions options = single_steps(folder);
  options.cuda_graphs = true;
  const auto refusal = [&](ToyModule& module, levin::ModuleRef reference) {
    module.optimizers_of = [](ToyModule& m) { return levin::optim::SGD(m.parameters()); };
    return error_text<levin::UsageError>([&] { levin::Trainer(options).fit(reference, data.loader(8)); });
  };
  Waits waits;
  CHECK(contains(refusal(waits, waits), "the step cannot be captured"));
  Hooked hooked;
  CHECK(contains(refusal(hooked, hooked), "on_after_backward is overridden"));
}

TEST_CASE("a captured step whose gradients are infinite changes nothing but the scale", "[graphs]") {
  struct Comparing : ToyModule {
    void on_train_batch_start(levin::Run&) override { before = copies(parameters()); }
    void on_train_batch_end(levin::Run& run) override {
      changed.push_back(!bit_equal(before, parameters()));
      skipped = run.state().skipped_steps;
    }
    std::vector<torch::Tensor> before = {};
    std::vector<bool> changed = {};
    int64_t skipped = 0;
  };
  ToyData data(8 * 12);
  data.target[8 * 9] = 1e30;  // of batch 9, which is replayed: the square is infinite
  const TemporaryFolder folder;
  const auto trained = [&](bool graphs) {
    torch::manual_seed(1);
    Comparing module;
    module.optimizers_of = adamw_with_steps;
    levin::TrainerOptions options = single_steps(folder);
    options.max_epochs = 1;
    options.precision = "16-mixed";
    options.cuda_graphs = graphs;
    levin::Trainer trainer(options);
    trainer.fit(module, data.loader(8));
    CHECK_FALSE(module.changed.at(9));
    CHECK(module.changed.at(11));
    CHECK(module.skipped == std::count(module.changed.begin(), module.changed.end(), false));
    trainer.save_checkpoint(folder / "scaler.ckpt");
    const double scale = levin::load_state(folder / "scaler.ckpt").at("MixedPrecision").at("scale").to_double();
    CHECK(scale == std::ldexp(65536.0, -static_cast<int>(module.skipped)));
    return module.changed;
  };
  CHECK(trained(true) == trained(false));
}
