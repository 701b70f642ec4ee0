// Several devices, as many as there are: dp, DataParallel, and ranks over NCCL.
#include <levin/core/device/gpu_discovery.h>

#include "tests/gpu/training.h"

TEST_CASE("dp over all GPUs ends as one of them", "[parallel]") {
  const int gpus = levin::visible_gpus().count;
  if (gpus < 2) {
    skipped_reason() = "it needs two GPUs";
    return;
  }
  const ToyData data(50);
  const TemporaryFolder folder;
  levin::TrainerOptions several = on(folder, "auto");
  several.gpus = gpus;
  CHECK(largest_difference(train(several, data.loader(16)), train(on(folder, "gpu"), data.loader(16))) < 1e-4);
}

TEST_CASE("one rank of ddp, zero1 and fsdp, over NCCL, ends as one GPU", "[parallel]") {
  const ToyData data(50);
  const TemporaryFolder folder;
  const auto expected = train(on(folder, "gpu"), data.loader(8));
  for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
    INFO(strategy);
    levin::TrainerOptions ranked = on(folder, "gpu");
    ranked.strategy = strategy;
    CHECK(largest_difference(train(ranked, data.loader(8)), expected) < 1e-5);
  }
}

TEST_CASE("a rank for which there is no GPU is refused with their number", "[parallel]") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = on(folder, "gpu");
  const int gpus = levin::visible_gpus().count;
  options.devices = gpus + 1;
  options.strategy = "ddp";
  const std::string text = error_text<levin::UsageError>([&] { train(options, ToyData(8).loader(8)); });
  INFO(text);
  CHECK(contains(text, std::to_string(gpus)));
}

TEST_CASE("dp of one GPU is a run on it", "[parallel]") {
  const ToyData data(50);
  const TemporaryFolder folder;
  levin::TrainerOptions dp = on(folder, "gpu");
  dp.strategy = "dp";
  CHECK(largest_difference(train(dp, data.loader(8)), train(on(folder, "gpu"), data.loader(8))) < 1e-5);
}

TEST_CASE("DataParallel over the GPU and the CPU has the gradients of one device", "[parallel]") {
  torch::manual_seed(1);
  torch::nn::Linear net(4, 3);
  net->to(kGpu);
  const auto input = torch::randn({10, 4}, kGpu);
  net->forward(input).pow(2).sum().backward();
  const auto expected = net->weight.grad().clone();
  net->zero_grad();
  levin::parallel::DataParallel parallel(net, {.devices = {kGpu, torch::kCPU}});
  const auto output = parallel(input);
  CHECK(output.device() == kGpu);
  output.pow(2).sum().backward();
  CHECK(torch::allclose(net->weight.grad(), expected, 1e-4, 1e-5));
}
