// A run on the GPU that resumes from its checkpoint ends as the unbroken one, to the bit.
#include "tests/gpu/training.h"

namespace {

/// Checks four epochs at once against two sessions; dropout draws its random numbers on the GPU.
void goes_on_to_the_bit(const std::function<void(levin::TrainerOptions&)>& change) {
  const ToyData data(40);
  const auto run = [&](const TemporaryFolder& folder, int64_t epochs, const std::string& ckpt_path) {
    levin::TrainerOptions options = on(folder, "gpu");
    options.max_epochs = epochs;
    options.seed = 3;
    change(options);
    return train<Dropping>(options, data.loader(8), ckpt_path);
  };
  const TemporaryFolder whole, parts;
  const auto expected = run(whole, 4, "");
  const auto half = run(parts, 2, "");
  CHECK_FALSE(bit_equal(half, expected));
  CHECK(bit_equal(run(parts, 4, "last"), expected));
}

}  // namespace

TEST_CASE("a run on the GPU resumes from its checkpoint to the bit, dropout included", "[checkpoints]") {
  goes_on_to_the_bit([](levin::TrainerOptions&) {});
}

TEST_CASE("a run in 16 bit resumes to the bit, with its scale and float32 master weights", "[checkpoints]") {
  for (const char* precision : {"bf16-mixed", "16-mixed", "bf16-true"}) {
    INFO(precision);
    goes_on_to_the_bit([&](levin::TrainerOptions& options) { options.precision = precision; });
  }
  goes_on_to_the_bit([](levin::TrainerOptions& options) {
    options.use_amp = true;
    options.amp_level = "O2";
  });
}

TEST_CASE("a run with captured steps resumes to the bit, and captures them again", "[checkpoints]") {
  for (const char* precision : {"32-true", "16-mixed"}) {
    INFO(precision);
    goes_on_to_the_bit([&](levin::TrainerOptions& options) {
      options.precision = precision;
      options.cuda_graphs = true;
      options.accumulate_grad_batches = 1;
    });
  }
}

TEST_CASE("one rank of ddp, zero1 and fsdp resumes to the bit", "[checkpoints]") {
  for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
    INFO(strategy);
    goes_on_to_the_bit([&](levin::TrainerOptions& options) { options.strategy = strategy; });
  }
}

TEST_CASE("a run on the GPU resumes on the CPU, and one on the CPU on the GPU", "[checkpoints]") {
  const ToyData data(40);
  const auto run = [&](const char* first, const char* second) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = on(folder, first);
    options.max_epochs = 2;
    train(options, data.loader(8));
    options.accelerator = second;
    options.max_epochs = 4;
    return train(options, data.loader(8), "last");
  };
  const auto expected = run("cpu", "cpu");
  CHECK(largest_difference(run("gpu", "cpu"), expected) < 1e-4);
  CHECK(largest_difference(run("cpu", "gpu"), expected) < 1e-4);
}
