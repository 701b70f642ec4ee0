#include <c10/core/CPUAllocator.h>
#include <levin/core/device/out_of_memory.h>
#include <levin/trainer/tuner/cpu_memory_limit.h>
#include <levin/trainer/tuner/lr_scaling.h>
#include <levin/trainer/tuner/scale_batch_size.h>

#include <new>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/tuner/tuned.h"

using levin::BatchSizeResult;
using levin::BatchSizeTrial;

namespace {

/// A layer whose activations take width * 4 bytes for each sample, and its gradient as much.
struct Wide : ToyModule {
  explicit Wide(int64_t width) : ToyModule(torch::nn::Sequential(torch::nn::Linear(4, width))) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return net->forward(batch.input()).square().mean();
  }
};

}  // namespace

TEST_CASE("the batch size search keeps a real limit of main memory") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Wide module(10000);  // 40 KB for each sample and tensor
  TunedData data(4000);
  const auto weights = copies(module.parameters());
  const BatchSizeResult result = levin::scale_batch_size(
      trainer, module, data, {.mode = "binsearch", .margin = 0, .memory_limit_bytes = 64 << 20});
  // At least output, square and one gradient live at once.
  CHECK(result.batch_size > 100);
  CHECK(result.batch_size < (64 << 20) / (3 * 40000));
  int64_t largest = 0;
  for (const BatchSizeTrial& trial : result.trials) {
    CHECK(trial.peak_bytes <= 64 << 20);
    if (trial.fits) largest = std::max(largest, trial.peak_bytes);
    if (!trial.fits) CHECK(contains(trial.reason, "out of memory: tensors would take"));
  }
  CHECK(largest > 60 << 20);
  CHECK(bit_equal(copies(module.parameters()), weights));
}

TEST_CASE("the memory limit counts live tensors and ends with its scope") {
  c10::Allocator* const before = c10::GetCPUAllocator();
  torch::Tensor outlives;
  {
    const levin::CpuMemoryLimit limit(1 << 20);
    for (int i = 0; i < 10; ++i) torch::zeros({1 << 17});
    CHECK(limit.peak() == 1 << 19);
    CHECK_THROWS_AS(torch::empty({1 << 20}), c10::OutOfMemoryError);
    CHECK(limit.peak() == 1 << 19);
    outlives = torch::ones({1 << 16});
    CHECK_THROWS_AS(levin::CpuMemoryLimit(1), levin::Error);
  }
  CHECK(c10::GetCPUAllocator() == before);
  CHECK_NOTHROW(outlives.resize_({1 << 20}));
  CHECK(outlives[5].item<float>() == 1);
  const levin::CpuMemoryLimit again(1 << 20);
  CHECK_NOTHROW(torch::empty({1 << 17}));
}

TEST_CASE("memory that kernels take without a tensor counts, and either allocator frees it") {
  c10::Allocator& plain = *c10::GetCPUAllocator();
  void* const before = plain.raw_allocate(1 << 10);
  void* during = nullptr;
  {
    const levin::CpuMemoryLimit limit(1 << 20);
    c10::Allocator& counting = *c10::GetCPUAllocator();
    void* const inside = counting.raw_allocate(1 << 19);
    CHECK(limit.peak() == 1 << 19);
    CHECK_THROWS_AS(counting.raw_allocate(1 << 20), c10::OutOfMemoryError);
    counting.raw_deallocate(inside);
    CHECK_NOTHROW(counting.raw_deallocate(counting.raw_allocate(1 << 20)));
    counting.raw_deallocate(before);
    during = counting.raw_allocate(1 << 10);
    // Convolutions allocate memory this way.
    const auto images = torch::randn({4, 1, 28, 28}), kernels = torch::randn({8, 1, 5, 5});
    CHECK(torch::conv2d(images, kernels).size(1) == 8);
  }
  plain.raw_deallocate(during);
  const levin::CpuMemoryLimit again(1 << 20);
  CHECK_NOTHROW(torch::empty({1 << 17}));
}

TEST_CASE("errors of out of memory are recognised") {
  const auto is_oom = [](auto throwing) {
    try {
      throwing();
    } catch (const std::exception& error) {
      return levin::is_out_of_memory(error);
    }
    return false;
  };
  CHECK(is_oom([] { throw std::bad_alloc(); }));
  CHECK(is_oom([] { torch::empty({int64_t{1} << 50}); }));
  CHECK(is_oom([] { throw levin::Error("a replica failed: CUDA out of memory. Tried to allocate 2.00 GiB"); }));
  CHECK(is_oom([] { TORCH_CHECK(false, "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"); }));
  CHECK_FALSE(is_oom([] { torch::zeros({2}).view({3}); }));
}

TEST_CASE("the rate follows the batch size by one of two rules") {
  using levin::LRScalingRule;
  CHECK(levin::scale_lr(0.1, 256, 64) == Approx(0.4));
  CHECK(levin::scale_lr(0.1, 256, 64, LRScalingRule::Sqrt) == Approx(0.2));
  CHECK(levin::scale_lr(0.1, 16, 64, LRScalingRule::Linear) == Approx(0.025));
  CHECK(contains(error_text<levin::UsageError>([] { levin::scale_lr(0.1, 0, 64); }), "at least 1, got 0 and 64"));
}
