// Tensors on different devices: the error names the device of each. The device "meta" stands for a second one.
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

TEST_CASE("a tensor of the batch on another device is named") {
  Mixing module;
  module.moves_target = true;
  const std::string error = error_of_fit(module);
  CHECK(contains(error, "the run is on cpu: tensor target of the batch is on meta ("));
}

TEST_CASE("if parameters and batch are on the device, the error means the step's own tensors") {
  Mixing module;
  module.mask = torch::ones({1}, at::kMeta);
  CHECK(contains(error_of_fit(module), "look for tensors that the step makes or that are members"));
}
