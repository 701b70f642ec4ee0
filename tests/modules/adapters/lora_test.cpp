#include <levin/levin.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/adapters/low_rank_adapter.h>

#include <torch/script.h>
#include <torch/torch.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/adapters/hand_lora.h"
#include "tests/small_modules.h"
#include "tests/temporary_folder.h"

using Catch::Matchers::Contains;
using levin::add_lora;
using levin::LoRAOptions;

TEST_CASE("an adapted module computes the same until its factors are trained") {
  auto net = small_net();
  const auto x = torch::randn({5, 4});
  const auto before = net->forward(x);
  CHECK(add_lora(*net) == std::vector<std::string>{"0", "2"});
  CHECK(torch::equal(net->forward(x), before));
  CHECK(net->named_parameters().keys() == std::vector<std::string>{"0.weight", "0.bias", "0.lora_A.weight",
                                                                   "0.lora_B.weight", "2.weight", "2.bias",
                                                                   "2.lora_A.weight", "2.lora_B.weight"});
  CHECK(trained(*net).size() == 4);
}

TEST_CASE("layers of all shapes of input add the low-rank part, and its gradients") {
  for (const bool bias : {true, false})
    for (const auto& sizes : std::vector<std::vector<int64_t>>{{6}, {3, 6}, {2, 3, 6}, {0, 6}}) {
      CAPTURE(bias, sizes);
      torch::nn::Sequential net(torch::nn::Linear(torch::nn::LinearOptions(6, 5).bias(bias)));
      add_lora(*net, {.rank = 3, .alpha = 6});
      const auto layer = levin::adapted_layers(*net).front();
      const auto a = layer.adapter->weight, b = layer.adapter->output->weight;
      {
        torch::NoGradGuard no_grad;
        b.normal_();
      }
      const auto x = torch::randn(sizes, torch::requires_grad());
      const auto bias_of = bias ? linear(net, 0).bias : torch::Tensor();
      const auto by_hand =
          at::linear(x, linear(net, 0).weight.clone(), bias_of) + 2 * at::matmul(at::matmul(x, a.t()), b.t());
      const auto result = net->forward(x);
      CHECK(torch::allclose(result, by_hand, 1e-5, 1e-6));
      const auto upstream = torch::randn_like(by_hand);
      const auto expected = torch::autograd::grad({by_hand}, {x, a, b}, {upstream});
      const auto got = torch::autograd::grad({result}, {x, a, b}, {upstream});
      for (size_t i = 0; i < 3; ++i) CHECK(torch::allclose(got[i], expected[i], 1e-4, 1e-5));
    }
}

TEST_CASE("a fit of adapters equals the one of a network that has them by hand, up to the order of sums") {
  const TemporaryFolder folder;
  auto options = quiet(folder);
  options.max_epochs = 3;
  SECTION("plain") {}
  SECTION("accumulation and clipping") {
    options.accumulate_grad_batches = 4;
    options.gradient_clip_val = 0.1;
  }
  SECTION("16 bit") { options.precision = "bf16-mixed"; }
  SECTION("zero1 on one rank") { options.strategy = "zero1"; }
  const Pair pair;
  fit(pair.adapted, options);
  fit(pair.by_hand, options);
  const bool mixed = options.precision.class_name() == "bf16-mixed";
  CHECK(trained(*pair.adapted).size() == 4);
  CHECK(largest_difference(trained(*pair.adapted), trained(*pair.by_hand)) < (mixed ? 0.02 : 1e-6));
  // Only factors have changed.
  auto untouched = small_net();
  CHECK(torch::equal(linear(untouched, 0).weight, linear(pair.adapted->net, 0).weight));
  CHECK(torch::equal(linear(untouched, 2).bias, linear(pair.adapted->net, 2).bias));
}

TEST_CASE("a fit of adapters that is resumed equals the one that is not interrupted, to the bit") {
  const TemporaryFolder folder, other;
  auto options = quiet(folder);
  options.max_epochs = 4;
  const Pair whole;
  fit(whole.adapted, options);
  auto half = quiet(other);
  half.max_epochs = 2;
  const Pair first;
  fit(first.adapted, half);
  half.max_epochs = 4;
  const Pair second;
  fit(second.adapted, half, "last");
  CHECK(bit_equal(trained(*second.adapted), trained(*whole.adapted)));
}

TEST_CASE("a module that moves to another dtype and back keeps its adapters") {
  auto net = small_net();
  add_lora(*net, {.rank = 2});
  draw_outputs(*net);
  const auto x = torch::randn({5, 4});
  const auto before = net->forward(x);
  net->to(torch::kDouble);
  CHECK(torch::allclose(net->forward(x.to(torch::kDouble)), before.to(torch::kDouble), 1e-5, 1e-6));
  net->to(torch::kFloat);
  CHECK(torch::equal(net->forward(x), before));
  const auto copy = linear(net, 0).weight.clone();
  CHECK(levin::adapters::adapter_of(linear(net, 0).weight));
  CHECK_FALSE(levin::adapters::adapter_of(copy));
  linear(net, 0).weight.set_data(copy);
  CHECK_FALSE(torch::equal(net->forward(x), before));
  levin::attach_adapters(*net);
  CHECK(torch::equal(net->forward(x), before));
}

TEST_CASE("merged adapters are part of the weights") {
  auto net = small_net();
  add_lora(*net, {.rank = 2});
  draw_outputs(*net);
  const auto x = torch::randn({5, 4});
  const auto before = net->forward(x);
  levin::merge_adapters(*net);
  CHECK(net->named_parameters().keys() == small_net()->named_parameters().keys());
  CHECK(torch::allclose(net->forward(x), before, 1e-5, 1e-6));
  CHECK(levin::adapted_layers(*net).empty());
  add_lora(*net);  // it may have others afterwards
}

TEST_CASE("a module is recorded once its adapters are merged") {
  auto net = small_net();
  add_lora(*net, {.rank = 2});
  draw_outputs(*net);
  const levin::Batch example(torch::randn({5, 4}));
  levin::ExportOptions options;
  options.function = [&](const levin::Batch& batch) { return levin::Batch(net->forward(batch.input())); };
  const auto record = [&] { return levin::export_program(*net, example, options); };
  CHECK_THAT(error_text([&] { record(); }), Contains("call merge_adapters first"));
  const auto before = net->forward(example.input());
  levin::merge_adapters(*net);
  CHECK(torch::allclose(record().run({example.input()})[0], before));
}

TEST_CASE("dropout of an adapter is there in training alone, and draws by the seed") {
  auto net = small_net();
  add_lora(*net, {.rank = 2, .dropout = 0.5});
  draw_outputs(*net);
  const auto x = torch::randn({5, 4});
  torch::manual_seed(1);
  const auto one = net->forward(x), two = net->forward(x);
  CHECK_FALSE(torch::equal(one, two));
  torch::manual_seed(1);
  CHECK(torch::equal(net->forward(x), one));
  net->eval();
  CHECK(torch::equal(net->forward(x), net->forward(x)));
}

TEST_CASE("targets are ends of names or patterns, and parts can be trained whole") {
  auto net = small_net();
  SECTION("the end of a name") { CHECK(add_lora(*net, {.targets = {"2"}}) == std::vector<std::string>{"2"}); }
  SECTION("a pattern") { CHECK(add_lora(*net, {.targets = {"[0-1]"}}) == std::vector<std::string>{"0"}); }
  SECTION("in the module's order, each once") {
    CHECK(add_lora(*net, {.targets = {"2", "all-linear", "0"}}) == std::vector<std::string>{"0", "2"});
  }
  SECTION("a part that is trained whole") {
    add_lora(*net, {.targets = {"0"}, .train = {"2"}});
    CHECK(linear(net, 2).weight.requires_grad());
    CHECK_FALSE(linear(net, 0).weight.requires_grad());
  }
}

TEST_CASE("what cannot have an adapter is refused by name, and the module stays as it was") {
  struct Net : torch::nn::Module {
    torch::nn::Linear query = register_module("query", torch::nn::Linear(4, 4));
    torch::nn::Conv2d patches = register_module("patches", torch::nn::Conv2d(3, 4, 2));
    torch::nn::Embedding tokens = register_module("tokens", torch::nn::Embedding(4, 4));
    torch::nn::ReLU act = register_module("act", torch::nn::ReLU());
  };
  Net net;
  const auto text = [&](const LoRAOptions& options) { return error_text([&] { add_lora(net, options); }); };
  CHECK_THAT(text({.targets = {"qery"}}), Contains("qery names no part") && Contains("did you mean query"));
  CHECK_THAT(text({.targets = {"query", "patches"}}), Contains("patches has a weight of [4, 3, 2, 2]"));
  CHECK_THAT(text({.targets = {"tokens"}}), Contains("tokens is an embedding") && Contains("train"));
  CHECK_THAT(text({.targets = {"act"}}), Contains("act has no parameter `weight`"));
  CHECK_THAT(text({.targets = {"query"}, .train = {"patchs"}}), Contains("patchs") && Contains("did you mean patches"));
  CHECK_THAT(text({.rank = 0}), Contains("rank"));
  CHECK(net.query->named_children().is_empty());
  add_lora(net, {.targets = {"query"}});
  CHECK_THAT(text({.targets = {"query"}}), Contains("query has an adapter"));
}

TEST_CASE("a script's layers take adapters, also with weights stored as [in, out]") {
  const TemporaryFolder folder;
  torch::jit::Module script("Net");
  torch::manual_seed(5);
  script.register_parameter("bias", torch::randn({3}), false);
  torch::jit::Module inner("Linear");
  inner.register_parameter("weight", torch::randn({4, 3}), false);
  script.register_module("inner", inner);
  script.define("def forward(self, x):\n    return torch.addmm(self.bias, x, self.inner.weight)\n");
  script.save((folder / "net.pt").string());
  levin::ScriptModule::Options options{.file = (folder / "net.pt").string()};
  options.initial.adapter = {"LoRA", LoRAOptions{.rank = 2, .targets = {"inner"}, .fan_in_fan_out = true}};
  levin::ScriptModule module(options);
  const auto layer = levin::adapted_layers(module).at(0);
  {
    torch::NoGradGuard no_grad;
    layer.adapter->output->weight.normal_();
  }
  const auto x = torch::randn({5, 4});
  const auto change = at::matmul(at::matmul(x, layer.adapter->weight.t()), layer.adapter->output->weight.t()) * 8;
  const auto base = at::addmm(script.attr("bias").toTensor(), x, inner.attr("weight").toTensor());
  CHECK(torch::allclose(module.forward(x), base + change, 1e-5, 1e-5));
  CHECK(layer.adapter->was_used());
  CHECK(module.forward(x).requires_grad());
}

TEST_CASE("an adapter's folder is read as it was written") {
  const TemporaryFolder folder;
  auto net = small_net(), other = small_net();
  add_lora(*net, {.rank = 2, .alpha = 5, .targets = {"0"}, .train = {"2"}});
  {
    torch::NoGradGuard no_grad;
    levin::adapted_layers(*net).at(0).adapter->output->weight.normal_();
    linear(net, 2).weight.normal_();
  }
  levin::save_adapter(*net, folder / "adapter", {.base_model = "base", .task = "CAUSAL_LM"});
  levin::load_adapter(*other, folder / "adapter");
  const auto x = torch::randn({5, 4});
  CHECK(torch::equal(net->forward(x), other->forward(x)));
  CHECK(trained(*other).size() == trained(*net).size());

  const auto edited = [&](const std::string& from, const std::string& to) {
    std::ifstream in((folder / "adapter" / "adapter_config.json").string());
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    std::ofstream((folder / "adapter" / "adapter_config.json").string()) << text.replace(at, from.size(), to);
    auto fresh = small_net();
    return error_text([&] { levin::load_adapter(*fresh, folder / "adapter"); });
  };
  CHECK_THAT(edited("\"use_dora\": false", "\"use_dora\": true"),
             Contains("use_dora is true") && Contains("adapter_config"));
  CHECK_THAT(edited("\"use_dora\": true", "\"new_trick\": 3"), Contains("new_trick is 3"));
  CHECK_THAT(edited("\"new_trick\": 3", "\"bias\": \"all\""), Contains("bias"));
  CHECK_THAT(edited("LORA", "IA3"), Contains("peft_type"));
  torch::nn::Sequential smaller(torch::nn::Linear(4, 7), torch::nn::Tanh(), torch::nn::Linear(7, 1));
  levin::save_adapter(*net, folder / "adapter");
  CHECK_THAT(error_text([&] { levin::load_adapter(*smaller, folder / "adapter"); }),
             Contains("of [7, 4]") || Contains("[1, 7]"));
  CHECK(levin::adapted_layers(*smaller).empty());
  torch::nn::Sequential shorter(torch::nn::Linear(4, 8));
  CHECK_THAT(error_text([&] { levin::load_adapter(*shorter, folder / "adapter"); }),
             Contains("the module has no 2.bias"));
}
