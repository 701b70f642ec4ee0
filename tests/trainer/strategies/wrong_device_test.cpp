// Tensors on different devices: the error says what is where. The device "meta" stands for another one.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

struct Mixing : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    if (mask.defined()) return (batch.input() * mask).sum();
    return ToyModule::training_step(batch, batch_idx);
  }
  levin::Batch on_after_batch_transfer(levin::Batch batch, int64_t) override {
    if (moves_target) batch.set("target", batch.target().to(at::kMeta));
    return batch;
  }
  torch::Tensor mask;
  bool moves_target = false;
};

std::string error_of_fit(Mixing& module) {
  const TemporaryFolder folder;
  return error_text<levin::UsageError>([&] { levin::Trainer(quiet(folder)).fit(module, ToyData(8).loader(4)); });
}

}  // namespace

TEST_CASE("a tensor of the batch that is elsewhere is named") {
  Mixing module;
  module.moves_target = true;
  const std::string error = error_of_fit(module);
  CHECK(contains(error, "the run is on cpu: tensor target of the batch is on meta ("));
}

TEST_CASE("where parameters and batch are in place, the step's own tensors are meant") {
  Mixing module;
  module.mask = torch::ones({1}, at::kMeta);
  CHECK(contains(error_of_fit(module), "look for tensors that the step makes or that are members"));
}
