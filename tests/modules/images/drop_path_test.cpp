#include <levin/modules/images/drop_path.h>
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "tests/catch.h"

TEST_CASE("a dropped path is zero for whole samples in training, and the others make up for it") {
  torch::manual_seed(5);
  const auto x = torch::rand({4000, 2, 3}).add(0.5).requires_grad_();
  const double rate = 0.3;
  const auto y = levin::nn::drop_path(x, rate, /*training=*/true);
  const auto factors = (y / x).detach().flatten(1);
  CHECK(torch::equal(factors.eq(0).all(1), factors.eq(0).any(1)));
  const auto is_kept = factors.ne(0).all(1);
  CHECK(factors.index({is_kept}).allclose(torch::tensor(static_cast<float>(1 / (1 - rate)))));
  const double deviation = std::sqrt(rate * (1 - rate) / 4000);
  CHECK(std::abs(is_kept.to(torch::kDouble).mean().item<double>() - (1 - rate)) < 4 * deviation);
  y.sum().backward();
  CHECK(x.grad().flatten(1).allclose(factors));
  CHECK(levin::nn::drop_path(x, rate, /*training=*/false).is_same(x));
  CHECK(levin::nn::drop_path(x, 0, /*training=*/true).is_same(x));
}

TEST_CASE("the rates of blocks rise in equal steps") {
  const std::vector<double> rates = levin::nn::drop_path_rates(0.2, 5);
  REQUIRE(rates.size() == 5);
  for (size_t i = 0; i < 5; ++i) CHECK(rates[i] == Approx(0.05 * static_cast<double>(i)));
  CHECK(levin::nn::drop_path_rates(0.2, 1) == std::vector<double>{0});
}
