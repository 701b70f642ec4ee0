#include <levin/modules/autocast.h>
#include <ATen/autocast_mode.h>
#include <torch/nn/functional/linear.h>
#include <torch/types.h>

#include <stdexcept>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::Autocast;
using levin::AutocastState;

namespace {

at::ScalarType dtype_of_product() {
  return torch::nn::functional::linear(torch::ones({2, 3}), torch::ones({4, 3})).scalar_type();
}

}  // namespace

TEST_CASE("autocast computes in lower precision as long as it lives, and scopes nest") {
  const AutocastState before;
  CHECK(dtype_of_product() == at::kFloat);
  {
    const Autocast outer(at::kCPU);
    CHECK(dtype_of_product() == at::kBFloat16);  // torch.autocast's default on the CPU
    {
      const Autocast inner(at::kCPU, at::kHalf);
      CHECK(dtype_of_product() == at::kHalf);
      const Autocast off(at::kCPU, {}, /*enabled=*/false);
      CHECK(dtype_of_product() == at::kFloat);
    }
    CHECK(dtype_of_product() == at::kBFloat16);
    CHECK_FALSE(AutocastState() == before);
  }
  CHECK(dtype_of_product() == at::kFloat);
  CHECK(AutocastState() == before);
}

TEST_CASE("autocast restores the thread's state after an exception") {
  const AutocastState before;
  try {
    const Autocast autocast(at::kCPU, at::kHalf, /*enabled=*/true, /*cache_enabled=*/false);
    CHECK_FALSE(at::autocast::is_autocast_cache_enabled());
    throw std::runtime_error("in a step");
  } catch (const std::runtime_error&) {
    CHECK(AutocastState() == before);
  }
}

TEST_CASE("casts of weights are kept until the outermost scope ends, unless the cache is off") {
  const auto casts = [](bool cached) {
    at::Tensor weight = torch::ones({4, 3}).requires_grad_();
    at::Tensor second;
    {
      const Autocast outer(at::kCPU, at::kBFloat16, /*enabled=*/true, cached);
      {
        const Autocast inner(at::kCPU, at::kBFloat16);
        at::linear(torch::ones({2, 3}), weight);
      }
      // The change is seen only if the weight is cast again.
      weight.detach().fill_(2);
      second = at::linear(torch::ones({2, 3}), weight);
    }
    return second[0][0].item<float>();
  };
  CHECK(casts(true) == 3);
  CHECK(casts(false) == 6);
}

TEST_CASE("a thread takes another's autocast, and its own is put back") {
  const Autocast autocast(at::kCPU, at::kHalf);
  const AutocastState state;
  at::ScalarType alone = at::kByte, within = at::kByte, behind = at::kByte;
  std::thread([&] {
    alone = dtype_of_product();
    {
      const levin::AutocastGuard guard(state);
      within = dtype_of_product();
    }
    behind = dtype_of_product();
  }).join();
  CHECK(alone == at::kFloat);
  CHECK(within == at::kHalf);
  CHECK(behind == at::kFloat);
}

TEST_CASE("autocast refuses what LibTorch has none for") {
  CHECK(error_text<levin::UsageError>([] { Autocast(at::kCPU, at::kDouble); }) ==
        "Autocast: expected float16 or bfloat16, got Double");
  CHECK(error_text<levin::UsageError>([] { Autocast(at::kMeta); }) ==
        "Autocast: LibTorch has none for meta; use cpu or cuda");
}
