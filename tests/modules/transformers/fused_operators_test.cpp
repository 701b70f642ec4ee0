// What a decoder computes in one pass, against ATen's operators.
#include <levin/modules/transformers/fused/fused_operators.h>
#include <ATen/autocast_mode.h>
#include <levin/core/system/error.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace fused = levin::nn::fused;
using levin::nn::Activation;
using torch::autograd::variable_list;

namespace {

using Function = std::function<torch::Tensor(const variable_list&)>;

double off(const torch::Tensor& got, const torch::Tensor& expected) {
  const double most = expected.abs().max().item<double>();
  return (got.to(torch::kDouble) - expected).abs().max().item<double>() / (most > 0 ? most : 1);
}

/// Compares values, gradients and gradients of gradients in float32 with those of `plain` in float64.
void check_like(const Function& fused, const Function& plain, const variable_list& given) {
  variable_list inputs, exact;
  for (const torch::Tensor& one : given) {
    inputs.push_back(one.detach().requires_grad_());
    exact.push_back(one.detach().to(torch::kDouble).requires_grad_());
  }
  const torch::Tensor result = fused(inputs), expected = plain(exact);
  REQUIRE(result.sizes() == expected.sizes());
  CHECK(off(result, expected) < 2e-6);
  const torch::Tensor upstream = torch::randn_like(result);
  const torch::Tensor wide = upstream.to(torch::kDouble);
  const auto exact_gradients = torch::autograd::grad({expected}, exact, {wide}, true, true);
  const auto once = torch::autograd::grad({result}, inputs, {upstream}, true);
  const auto gradients = torch::autograd::grad({result}, inputs, {upstream}, true, true);
  torch::Tensor sum = torch::zeros({}), exact_sum = torch::zeros({}, torch::kDouble);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CHECK(off(once[i], exact_gradients[i]) < 4e-6);
    CHECK(off(gradients[i], exact_gradients[i]) < 4e-6);
    sum = sum + gradients[i].square().sum();
    exact_sum = exact_sum + exact_gradients[i].square().sum();
  }
  if (!exact_sum.requires_grad()) return;  // linear in all inputs
  const auto second = torch::autograd::grad({sum}, inputs, {}, false, false, /*allow_unused=*/true);
  const auto exact_second = torch::autograd::grad({exact_sum}, exact, {}, false, false, /*allow_unused=*/true);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (exact_second[i].defined()) CHECK(off(second[i], exact_second[i]) < 2e-5);
}

}  // namespace

TEST_CASE("the norm in one pass is ATen's, with its derivatives") {
  torch::manual_seed(1);
  for (const int64_t size : {4, 15, 16, 100}) {
    CAPTURE(size);
    const auto plain = [size](const variable_list& in) { return torch::rms_norm(in[0], {size}, in[1], 1e-5); };
    const auto one_pass = [](const variable_list& in) { return fused::rms_norm(in[0], in[1], 1e-5); };
    check_like(one_pass, plain, {torch::randn({2, 7, size}), torch::randn({size})});
    check_like(one_pass, plain, {torch::randn({size, 3, 2}).permute({2, 1, 0}), torch::randn({size})});
  }
}

TEST_CASE("a rotation in one pass turns pairs of dims, in each layout of memory, and leaves the rest") {
  torch::manual_seed(2);
  for (const int64_t dims : {2, 10, 64})
    for (const int64_t batch_of_angles : {1, 3})
      for (const bool heads_first : {false, true}) {
        CAPTURE(dims, batch_of_angles, heads_first);
        const auto half = torch::rand({batch_of_angles, 1, 5, dims / 2});
        const auto angles = torch::cat({half, half}, -1);
        const auto plain = [&](const variable_list& in) {
          const auto wide = angles.to(torch::kDouble);
          const auto x = in[0].narrow(-1, 0, dims), rest = in[0].narrow(-1, dims, in[0].size(-1) - dims);
          const auto turned = torch::cat({-x.narrow(-1, dims / 2, dims / 2), x.narrow(-1, 0, dims / 2)}, -1);
          return torch::cat({x * wide.cos() + turned * wide.sin(), rest}, -1);
        };
        const auto x = heads_first ? torch::randn({3, 2, 5, 64}) : torch::randn({3, 5, 2, 64}).transpose(1, 2);
        check_like([&](const variable_list& in) { return fused::rotated(in[0], angles.cos(), angles.sin()); }, plain,
                   {x});
      }
}

TEST_CASE("a gate in one pass is its activation times the other half, also far from zero") {
  torch::manual_seed(3);
  for (const auto activation : {Activation::Silu, Activation::GeluTanh})
    for (const double scale : {1.0, 30.0}) {
      CAPTURE(static_cast<int>(activation), scale);
      check_like([&](const variable_list& in) { return *fused::gated(in[0], in[1], activation); },
                 [&](const variable_list& in) { return levin::nn::activated(in[0], activation) * in[1]; },
                 {torch::randn({3, 37}) * scale, torch::randn({3, 37})});
    }
  CHECK_FALSE(fused::gated(torch::ones({1}), torch::ones({1}), Activation::Relu));
  const auto ends = torch::tensor({-1e30F, -200.0F, 0.0F, 200.0F, 1e30F});
  const auto gated = *fused::gated(ends, torch::ones({5}), Activation::Silu);
  CHECK(gated.allclose(torch::silu(ends)));
  CHECK(fused::gated(torch::full({1}, NAN), torch::ones({1}), Activation::Silu)->isnan().all().item<bool>());
}

TEST_CASE("cross entropy in one pass counts the targets that count, and refuses what is no class") {
  torch::manual_seed(4);
  for (const int64_t classes : {1, 17, 300}) {
    CAPTURE(classes);
    auto targets = torch::randint(classes, {9}, torch::kLong);
    targets[3] = targets[8] = -100;
    const auto plain = [&](const variable_list& in) {
      return torch::nn::functional::cross_entropy(
          in[0], targets, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
    };
    const auto one_pass = [&](const variable_list& in) { return fused::cross_entropy_sum(in[0], targets, -100); };
    check_like(one_pass, plain, {torch::randn({9, classes}) * 5});
    check_like(one_pass, plain, {torch::randn({9, classes}) + 1000});
    targets[0] = classes;
    CHECK(contains(error_text([&] { one_pass({torch::randn({9, classes})}); }), "a target is out of bounds"));
  }
  const auto none = torch::full({2}, -100, torch::kLong);
  CHECK(fused::cross_entropy_sum(torch::randn({2, 3}), none, -100).item<float>() == 0);
}

TEST_CASE("other dtypes, empty tensors and autocast are left to ATen") {
  CHECK(fused::can_fuse(torch::ones({2})));
  CHECK_FALSE(fused::can_fuse(torch::ones({2}, torch::kDouble)));
  CHECK_FALSE(fused::can_fuse(torch::ones({0})));
  at::autocast::set_autocast_enabled(at::kCPU, true);
  CHECK_FALSE(fused::can_fuse(torch::ones({2})));
  at::autocast::set_autocast_enabled(at::kCPU, false);
}
