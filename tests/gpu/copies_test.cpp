// Copies of batches to the GPU: whole, and during the steps before.
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "tests/gpu/training.h"

namespace {

/// The stream that a tensor's memory was taken on.
c10::cuda::CUDAStream stream_of(const torch::Tensor& tensor) {
  const auto address = reinterpret_cast<size_t>(tensor.data_ptr());
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments)
    if (segment.address <= address && address < segment.address + segment.total_size)
      return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(segment.stream), tensor.device().index());
  throw std::runtime_error("the tensor's memory is not the allocator's");
}

}  // namespace

TEST_CASE("batches from page-locked memory arrive whole, on a separate stream", "[copies]") {
  struct Checking : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      CHECK(batch.input().device() == kGpu);
      CHECK(device() == kGpu);
      sums.push_back(batch.input().sum());
      return ToyModule::training_step(batch, batch_idx);
    }
    std::vector<torch::Tensor> sums;
  };
  const auto input = torch::randn({64, 4}), target = torch::randn({64, 1});
  const TemporaryFolder folder;
  Checking module;
  levin::TrainerOptions options = on(folder, "gpu");
  options.max_epochs = 1;
  levin::Trainer(options).fit(module, levin::data::DataLoader(levin::data::TensorDataset(input, target),
                                                              {.batch_size = 8, .pin_memory = true}));
  REQUIRE(module.sums.size() == 8);
  for (int64_t i = 0; i < 8; ++i)
    CHECK(std::abs((module.sums[static_cast<size_t>(i)].cpu() - input.narrow(0, 8 * i, 8).sum()).item<double>()) <
          1e-4);
}

TEST_CASE("a batch arrives while the step before it is still being computed", "[copies]") {
  struct Slow : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (current_epoch() == 1) at::cuda::sleep(1'500'000'000);  // about a second
      return ToyModule::training_step(batch, batch_idx);
    }
    void on_train_batch_start(levin::Run& run) override {
      // The first epoch loads kernels, which may wait for running ones.
      if (current_epoch() == 0 || run.batch_idx() == 0) return;
      const auto computing = c10::cuda::getCurrentCUDAStream();
      const auto copying = stream_of(run.batch().input());
      CHECK(copying != computing);
      while (!copying.query() && !computing.query()) continue;
      arrived_meanwhile.push_back(!computing.query());
    }
    std::vector<bool> arrived_meanwhile = {};
  };
  const TemporaryFolder folder;
  Slow module;
  levin::TrainerOptions options = single_steps(folder);
  options.max_epochs = 2;
  const auto input = torch::randn({64, 4}), target = torch::randn({64, 1});
  levin::Trainer(options).fit(module, levin::data::DataLoader(levin::data::TensorDataset(input, target),
                                                              {.batch_size = 16, .pin_memory = true}));
  CHECK(module.arrived_meanwhile == std::vector<bool>{true, true, true});
}
