#include <levin/core/device/memory_tracker.h>
#include <levin/core/system/memory_use.h>
#include <torch/torch.h>

#include "tests/catch.h"

TEST_CASE("a memory tracker counts live bytes and their peak") {
  constexpr int64_t kMegabyte = 1 << 20;
  const torch::Tensor before = torch::empty({kMegabyte}, torch::kByte);
  const levin::MemoryTracker tracker;
  torch::Tensor kept = torch::empty({2 * kMegabyte}, torch::kByte);
  {
    const torch::Tensor gone = torch::empty({3 * kMegabyte}, torch::kByte);
  }
  CHECK(tracker.live()["cpu"] == 2 * kMegabyte);
  CHECK(tracker.peak()["cpu"] == 5 * kMegabyte);
  kept = torch::Tensor();
  CHECK(tracker.live()["cpu"] == 0);
}

TEST_CASE("a memory tracker sees the activations that backward waits for") {
  const torch::Tensor weight = torch::rand({256, 256}, torch::requires_grad()), input = torch::rand({256, 256});
  const levin::MemoryTracker tracker;
  torch::Tensor loss;
  {
    const torch::Tensor hidden = torch::matmul(input, weight).tanh();  // tanh keeps its output
    loss = hidden.sum();
  }
  CHECK(tracker.live()["cpu"] >= 256 * 256 * 4);
  CHECK(tracker.live()["cpu"] < 2 * 256 * 256 * 4);
  loss.backward();
  CHECK(tracker.live()["cpu"] < 2 * 256 * 256 * 4);
  CHECK(weight.grad().defined());
}

TEST_CASE("host_memory gives the memory that the process has and may take") {
  const levin::HostMemory memory = levin::host_memory();
  CHECK(memory.resident > 1 << 20);
  CHECK(memory.resident_peak >= memory.resident);
  CHECK(memory.available > 1 << 20);
  CHECK_FALSE(levin::device_memory(c10::kCPU).has_value());
}
