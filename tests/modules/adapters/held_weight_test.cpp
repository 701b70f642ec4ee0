// Frozen weights of adapted layers in 4 and 8 bits.
#include <levin/modules/adapters/held_weight.h>
#include <levin/levin.h>
#include <levin/modules/adapters/code_tables.h>
#include <levin/modules/adapters/held_product.h>

#include <torch/script.h>
#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/adapters/hand_lora.h"

using Catch::Matchers::Contains;
using levin::BaseFormat;
using levin::adapters::HeldForm;

namespace {

std::vector<HeldForm> all_forms(int64_t rows, int64_t cols) {
  std::vector<HeldForm> forms;
  for (const auto format : {BaseFormat::NF4, BaseFormat::Int8, BaseFormat::BFloat16})
    forms.push_back({.format = format, .rows = rows, .cols = cols});
  forms.push_back({.format = BaseFormat::NF4, .double_quant = true, .rows = rows, .cols = cols});
  return forms;
}

/// Gives the layers of `net` the values that the codes of `held` stand for, as floats.
void take_values(const torch::nn::Module& held, const torch::nn::Module& net) {
  const torch::NoGradGuard no_grad;
  const auto from = levin::adapted_layers(held), to = levin::adapted_layers(net);
  for (size_t i = 0; i < from.size(); ++i) {
    torch::Tensor(to[i].weight).copy_(levin::adapters::whole_weight(from[i].weight, *from[i].adapter->held));
    to[i].adapter->weight.copy_(from[i].adapter->weight);
    to[i].adapter->output->weight.copy_(from[i].adapter->output->weight);
    if (to[i].adapter->magnitude) to[i].adapter->magnitude->weight.copy_(from[i].adapter->magnitude->weight);
  }
}

}  // namespace

TEST_CASE("codes stand for the nearest values, within the bounds of their formats") {
  for (const auto& [rows, cols] :
       std::vector<std::pair<int64_t, int64_t>>{{5, 7}, {64, 64}, {3, 200}, {1, 1}, {0, 4}}) {
    CAPTURE(rows, cols);
    torch::manual_seed(4);
    const auto weight = torch::randn({rows, cols}) * torch::rand({rows, 1}).add(0.01);
    for (const HeldForm& form : all_forms(rows, cols)) {
      CAPTURE(static_cast<int>(form.format), form.double_quant);
      const auto held = levin::adapters::held_values(weight, form, "weight");
      const auto back = levin::adapters::whole_weight(held, form);
      REQUIRE(back.sizes() == weight.sizes());
      if (rows == 0) continue;
      const auto error = (back - weight).abs();
      if (form.format == BaseFormat::BFloat16) CHECK(torch::equal(back, weight.to(torch::kBFloat16).to(torch::kFloat)));
      if (form.format == BaseFormat::Int8)
        CHECK((error <= weight.abs().amax(1, true) / 254 * 1.0001).all().item<bool>());
      if (form.format != BaseFormat::NF4) continue;
      // The widest gap between two values is 0.304; a block's scale is its largest magnitude.
      const int64_t padding = (64 - rows * cols % 64) % 64;
      const auto blocks = torch::constant_pad_nd(weight.reshape({-1}), {0, padding}).view({-1, 64});
      const auto scales = blocks.abs().amax(1, true).expand({-1, 64}).reshape({-1}).narrow(0, 0, rows * cols);
      const double most = form.double_quant ? 0.152 + 0.03 : 0.152;
      const double slack = form.double_quant ? 0.05 * scales.max().item<double>() : 0;
      CHECK((error.reshape({-1}) <= scales * most + slack).all().item<bool>());
      // Codes are kept: what they stand for has the same codes again.
      if (!form.double_quant) CHECK(torch::equal(levin::adapters::held_values(back, form, "weight"), held));
    }
  }
}

TEST_CASE("the tables are in order, and their ends and zero are exact") {
  const auto& four = levin::adapters::nf4_values();
  const auto& eight = levin::adapters::dynamic_values();
  CHECK(std::ranges::is_sorted(four));
  CHECK(std::ranges::is_sorted(eight));
  CHECK(std::ranges::adjacent_find(eight) == eight.end());
  CHECK((four[0] == -1 && four[7] == 0 && four[15] == 1 && eight[255] == 1));
  CHECK(std::ranges::count(eight, 0.0F) == 1);
  for (size_t i = 0; i < 16; ++i) CHECK(levin::adapters::nearest(four, four[i]) == i);
}

TEST_CASE("a product with a held weight, its gradient and that one's gradient are those of its values") {
  for (const HeldForm& form : all_forms(70, 48))
    for (const bool by_transpose : {true, false})
      for (const auto& front : std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0}}) {
        CAPTURE(static_cast<int>(form.format), by_transpose, front);
        torch::manual_seed(6);
        const auto held = levin::adapters::held_values(torch::randn({70, 48}), form, "weight");
        const auto weight = levin::adapters::whole_weight(held, form);
        std::vector<int64_t> sizes = front;
        sizes.push_back(by_transpose ? 48 : 70);
        const auto x = torch::randn(sizes, torch::requires_grad());
        const auto matrix = by_transpose ? weight.t() : weight;
        const auto expected = torch::matmul(x, matrix);
        const auto result = levin::adapters::held_product(x, held, form, by_transpose);
        CHECK(torch::allclose(result, expected, 1e-5, 1e-5));
        const auto upstream = torch::randn_like(expected).requires_grad_();
        const auto gradient = torch::autograd::grad({result}, {x}, {upstream}, true, true)[0];
        CHECK(torch::allclose(gradient, torch::matmul(upstream, matrix.t()), 1e-5, 1e-5));
        const auto second = torch::autograd::grad({gradient}, {upstream}, {x.detach()})[0];
        CHECK(torch::allclose(second, expected, 1e-5, 1e-5));
      }
}

TEST_CASE("a network with a held base has the gradients and the training of one with the values as floats") {
  for (const char* base : {"nf4", "int8", "bfloat16"})
    for (const bool dora : {false, true})
      for (const char* precision : {"32-true", "bf16-mixed"}) {
        CAPTURE(base, dora, precision);
        const TemporaryFolder folder;
        const auto held = std::make_shared<ToyModule>(small_net()), floats = std::make_shared<ToyModule>(small_net());
        levin::LoRAOptions lora = {.rank = 2, .alpha = 3, .dora = dora};
        levin::add_lora(*floats, lora);
        lora.base = base;
        lora.double_quant = std::string(base) == "nf4";
        levin::add_lora(*held, lora);
        draw_outputs(*held);
        take_values(*held, *floats);
        auto options = quiet(folder);
        options.max_epochs = 3;
        options.precision = precision;
        fit(held, options);
        fit(floats, options);
        const double most = options.precision.class_name() == "32-true" ? 1e-5 : 0.03;
        CHECK(largest_difference(trained(*held), trained(*floats)) < most);
        const auto x = torch::randn({5, 4});
        const auto before = held->net->forward(x);
        // As floats it is what has been trained.
        ToyModule whole(small_net());
        levin::load_module_state_dict(whole, levin::merged_state_dict(*held));
        CHECK(torch::allclose(whole.net->forward(x), before, 1e-4, 1e-5));
        levin::merge_adapters(*held);
        CHECK(linear(held->net, 0).weight.sizes() == torch::IntArrayRef({8, 4}));
        CHECK(torch::equal(held->net->forward(x), whole.net->forward(x)));
      }
}

TEST_CASE("layers of all shapes of input, with a bias and without, compute with a held base and magnitudes") {
  for (const char* base : {"as_given", "nf4", "int8", "bfloat16"})
    for (const bool dora : {false, true})
      for (const bool bias : {false, true})
        for (const auto& sizes : std::vector<std::vector<int64_t>>{{6}, {3, 6}, {2, 3, 6}, {0, 6}}) {
          CAPTURE(base, dora, bias, sizes);
          torch::manual_seed(9);
          torch::nn::Sequential net(torch::nn::Linear(torch::nn::LinearOptions(6, 5).bias(bias)));
          levin::add_lora(*net, {.rank = 3, .alpha = 6, .dora = dora, .base = base});
          draw_outputs(*net);
          const auto layer = levin::adapted_layers(*net).front();
          const auto a = layer.adapter->weight, b = layer.adapter->output->weight;
          if (dora) {
            const torch::NoGradGuard no_grad;
            layer.adapter->magnitude->weight.mul_(1.5);
          }
          const auto own = layer.adapter->held ? levin::adapters::whole_weight(layer.weight, *layer.adapter->held)
                                               : layer.weight.detach().clone();
          auto weight = own + 2 * torch::matmul(b, a);
          if (dora) weight = weight / weight.norm(2, 1, true).detach() * layer.adapter->magnitude->weight.unsqueeze(1);
          const auto x = torch::randn(sizes, torch::requires_grad());
          const auto by_hand = at::linear(x, weight, bias ? linear(net, 0).bias : torch::Tensor());
          const auto result = net->forward(x);
          CHECK(torch::allclose(result, by_hand, 1e-5, 1e-5));
          std::vector<torch::Tensor> of = {x, a, b};
          if (dora) of.push_back(layer.adapter->magnitude->weight);
          const auto upstream = torch::randn_like(by_hand);
          const auto expected = torch::autograd::grad({by_hand}, of, {upstream});
          const auto got = torch::autograd::grad({result}, of, {upstream});
          for (size_t i = 0; i < of.size(); ++i) CHECK(torch::allclose(got[i], expected[i], 1e-4, 1e-5));
        }
}

TEST_CASE("a held base takes as much memory as its codes and scales") {
  const auto bytes = [&](const char* base, bool double_quant) {
    torch::nn::Sequential one(torch::nn::Linear(torch::nn::LinearOptions(512, 256).bias(false)));
    levin::add_lora(*one, {.base = base, .double_quant = double_quant});
    return linear(one, 0).weight.nbytes();
  };
  constexpr size_t kElements = 512 * 256;
  CHECK(bytes("bfloat16", false) == kElements * 2);
  CHECK(bytes("int8", false) == kElements + 256 * 4);
  CHECK(bytes("nf4", false) == kElements / 2 + kElements / 64 * 4);
  CHECK(bytes("nf4", true) == kElements / 2 + kElements / 64 + kElements / 64 / 256 * 4 + 4);
}

TEST_CASE("a held base moves with its module, and stays as it is in other dtypes") {
  auto net = small_net();
  levin::add_lora(*net, {.rank = 2, .base = "nf4"});
  const auto x = torch::randn({5, 4});
  const auto before = net->forward(x);
  const auto codes = linear(net, 0).weight.clone();
  net->to(torch::kDouble);
  CHECK(torch::equal(linear(net, 0).weight, codes));
  CHECK(torch::allclose(net->forward(x.to(torch::kDouble)), before.to(torch::kDouble), 1e-5, 1e-6));
  net->to(torch::kFloat);
  CHECK(torch::equal(net->forward(x), before));
  const TemporaryFolder folder;
  levin::save_weights(*net, folder / "weights.pt");
  CHECK(levin::load_state_dict_file(folder / "weights.pt").at("0.weight").to_tensor().equal(codes));
  auto other = small_net();
  levin::add_lora(*other, {.rank = 2, .base = "nf4"});
  levin::load_weights(*other, folder / "weights.pt");
  CHECK(torch::equal(other->forward(x), before));
}

TEST_CASE("what cannot be held is refused") {
  auto net = small_net();
  CHECK_THAT(error_text([&] { levin::add_lora(*net, {.double_quant = true}); }), Contains("double_quant"));
  CHECK_THAT(error_text([&] { levin::add_lora(*net, {.base = "nf5"}); }), Contains("nf5"));
  {
    const torch::NoGradGuard no_grad;
    linear(net, 2).weight[0][0] = std::numeric_limits<float>::infinity();
  }
  CHECK_THAT(error_text([&] { levin::add_lora(*net, {.base = "int8"}); }),
             Contains("2 has values that are not finite"));
}

TEST_CASE("a summary counts the weights that codes stand for, and the bytes that they take") {
  torch::nn::Sequential net(torch::nn::Linear(128, 64), torch::nn::Linear(64, 2));
  levin::add_lora(*net, {.rank = 1, .targets = {"0"}, .base = "nf4"});
  const auto summary = levin::summarize(*net);
  CHECK(summary.parameters == 128 * 64 + 64 + 128 + 64 + 64 * 2 + 2);
  CHECK(summary.trainable == 128 + 64);
  CHECK(summary.bytes == 128 * 64 / 2 + 128 * 64 / 64 * 4 + 4 * (64 + 128 + 64 + 64 * 2 + 2));
}
