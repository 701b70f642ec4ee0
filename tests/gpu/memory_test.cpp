// A GPU whose memory runs out: batches are split, and a size that fits is searched for.
#include <c10/cuda/CUDACachingAllocator.h>
#include <levin/core/system/memory_use.h>
#include <levin/trainer/tuner/scale_batch_size.h>

#include "tests/captured_stderr.h"
#include "tests/gpu/training.h"
#include "tests/trainer/tuner/tuned.h"

namespace allocator = c10::cuda::CUDACachingAllocator;

namespace {

/// While it lives, the process may take `bytes` more of the GPU than it has.
class LimitedMemory {
 public:
  explicit LimitedMemory(int64_t bytes) {
    allocator::emptyCache();
    const auto total = static_cast<double>(levin::device_memory(kGpu)->total);
    allocator::setMemoryFraction(static_cast<double>(levin::device_memory(kGpu)->reserved + bytes) / total, 0);
  }
  ~LimitedMemory() { allocator::setMemoryFraction(1.0, 0); }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;
};

constexpr int64_t kWidth = 1 << 18;  // 1 MiB for each sample and tensor

/// A layer whose activations take far more memory than its weights.
struct MemoryHungry : ToyModule {
  MemoryHungry() : ToyModule(torch::nn::Sequential(torch::nn::Linear(4, kWidth))) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return net->forward(batch.input()).square().mean();
  }
};

}  // namespace

TEST_CASE("a batch that the GPU cannot hold is trained in parts, and ends as if it could", "[memory]") {
  const ToyData data(512);
  const auto trained = [&] {
    const TemporaryFolder folder;
    levin::TrainerOptions options = single_steps(folder);
    options.auto_microbatch = true;
    options.gradient_clip_val = {};
    return train<MemoryHungry>(options, data.loader(256));
  };
  const std::vector<torch::Tensor> expected = trained();
  const LimitedMemory limit(400 << 20);  // a batch's output, its square and one gradient take twice as much
  CapturedStderr captured;
  const std::vector<torch::Tensor> weights = trained();
  CHECK(contains(captured.text(), "ran out of memory; from now on batches are split into 2 parts"));
  CHECK(largest_difference(weights, expected) < 1e-5);
}

TEST_CASE("the batch size search finds what the GPU's memory holds", "[memory]") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.accelerator = "gpu";
  levin::Trainer trainer(options);
  MemoryHungry module;
  TunedData data(4096, 4);
  const auto weights = copies(module.parameters());
  const LimitedMemory limit(400 << 20);
  const levin::BatchSizeResult result =
      levin::scale_batch_size(trainer, module, data, {.mode = "binsearch", .margin = 0});
  CHECK(result.batch_size >= 64);
  CHECK(result.batch_size < 200);
  CHECK(std::ranges::any_of(result.trials, [](const auto& trial) { return !trial.fits; }));
  for (size_t i = 0; i < weights.size(); ++i) CHECK(torch::equal(module.parameters()[i].cpu(), weights[i].cpu()));
}
