#include <levin/modules/observers/flop_counter.h>
#include <torch/torch.h>

#include <map>

#include "tests/catch.h"

namespace F = torch::nn::functional;
using levin::FlopCounter, levin::MatrixProduct;
using Products = std::map<MatrixProduct, int64_t>;

namespace {

template <class Work>
Products products_of(const Work& work) {
  const FlopCounter counter;
  work();
  int64_t flops = 0;
  for (const auto& [product, calls] : counter.products()) flops += calls * product.flops();
  CHECK(flops == counter.flops());
  return counter.products();
}

}  // namespace

TEST_CASE("matrix products are counted by their shapes, those of backward too") {
  const auto input = torch::randn({8, 3}), weight = torch::randn({5, 3}, torch::requires_grad());
  CHECK((products_of([&] { F::linear(input, weight).sum().backward(); }) ==
         Products{{{1, 8, 3, 5}, 1}, {{1, 5, 8, 3}, 1}}));
  const auto a = torch::randn({4, 2, 3}), b = torch::randn({4, 3, 6});
  CHECK((products_of([&] {
           torch::bmm(a, b);
           torch::bmm(a, b);
         }) == Products{{{4, 2, 3, 6}, 2}}));
  CHECK((products_of([&] { torch::mv(torch::randn({7, 3}), torch::randn({3})); }) == Products{{{1, 7, 3, 1}, 1}}));
}

TEST_CASE("a convolution is the product of its weight by the patches of its input") {
  const auto input = torch::randn({2, 4, 8, 8}, torch::requires_grad());
  const auto weight = torch::randn({6, 4, 3, 3}, torch::requires_grad());
  CHECK((products_of([&] { F::conv2d(input, weight).sum().backward(); }) ==
         Products{{{1, 6, 36, 72}, 1}, {{1, 36, 6, 72}, 1}, {{1, 6, 72, 36}, 1}}));
  const auto grouped = torch::randn({6, 2, 3, 3});
  CHECK((products_of([&] { F::conv2d(input.detach(), grouped, F::Conv2dFuncOptions().groups(2)); }) ==
         Products{{{2, 3, 18, 72}, 1}}));
  const auto back = torch::randn({4, 6, 3, 3});
  CHECK((products_of([&] { F::conv_transpose2d(input.detach(), back); }) == Products{{{1, 54, 4, 128}, 1}}));
}

TEST_CASE("attention is two products, five in backward") {
  const auto one = [] { return torch::randn({2, 3, 5, 4}, torch::requires_grad()); };
  const auto query = one(), key = one(), value = one();
  const Products all = products_of([&] { torch::scaled_dot_product_attention(query, key, value).sum().backward(); });
  int64_t flops = 0;
  for (const auto& [product, calls] : all) flops += calls * product.flops();
  CHECK(flops == 7 * MatrixProduct{6, 5, 4, 5}.flops());
}
