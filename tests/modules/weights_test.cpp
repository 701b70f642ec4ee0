#include <levin/modules/weights.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/state/state_file.h>

#include <torch/torch.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::load_module_state_dict;
using levin::load_weights;
using levin::module_state_dict;
using levin::State;
using levin::UsageError;

namespace {

struct Net : torch::nn::Module {
  Net() {
    block = register_module("block", torch::nn::Sequential(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3)));
    head = register_module("head", torch::nn::Linear(torch::nn::LinearOptions(3, 2).bias(false)));
    scale = register_parameter("scale", torch::ones({}));
    steps = register_buffer("steps", torch::zeros({1}, torch::kLong));
  }
  torch::nn::Sequential block{nullptr};
  torch::nn::Linear head{nullptr};
  torch::Tensor scale, steps;
};

std::vector<std::string> keys(const State& state) {
  std::vector<std::string> keys;
  for (const auto& item : state.to_dict()) keys.push_back(levin::to_text(item.first));
  return keys;
}

}  // namespace

TEST_CASE("a module's state dict has Python's keys in Python's order") {
  const Net net;
  CHECK(keys(module_state_dict(net)) == std::vector<std::string>{"scale", "steps", "block.0.weight", "block.0.bias",
                                                                 "block.1.weight", "block.1.bias",
                                                                 "block.1.running_mean", "block.1.running_var",
                                                                 "block.1.num_batches_tracked", "head.weight"});
  CHECK_FALSE(module_state_dict(net).at("scale").to_tensor().requires_grad());
  CHECK(module_state_dict(net).at("scale").to_tensor().data_ptr() == net.scale.data_ptr());
}

TEST_CASE("weights that are saved load into another module, in place") {
  const TemporaryFolder folder;
  Net source, target;
  source.steps.fill_(5);
  levin::save_weights(source, folder / "weights.pt");
  const void* memory = target.head->weight.data_ptr();
  load_weights(target, folder / "weights.pt");
  CHECK(target.head->weight.data_ptr() == memory);
  CHECK(target.head->weight.requires_grad());
  CHECK(target.head->weight.is_leaf());
  const State saved = module_state_dict(source);
  for (const auto& item : saved.to_dict())
    CHECK(torch::equal(item.second.to_tensor(), module_state_dict(target).at(item.first).to_tensor()));

  levin::save_state(State::dict({{"epoch", 1}, {"state_dict", module_state_dict(Net())}}), folder / "a.ckpt");
  load_weights(target, folder / "a.ckpt");
  CHECK(target.steps.item<int64_t>() == 0);
}

TEST_CASE("a target keeps its dtype") {
  Net source, target;
  target.to(torch::kDouble);
  load_module_state_dict(target, module_state_dict(source));
  CHECK(target.head->weight.scalar_type() == torch::kDouble);
  CHECK(torch::equal(target.head->weight, source.head->weight.to(torch::kDouble)));
}

TEST_CASE("of tied weights a file may have one name alone, whichever it is") {
  struct Tied : torch::nn::Module {
    Tied() {
      register_module("table", table);
      register_module("head", head);
      head->weight = head->register_parameter("weight", table->weight);
    }
    struct Head : torch::nn::Module {
      torch::Tensor weight;
    };
    torch::nn::Embedding table{5, 2};
    std::shared_ptr<Head> head = std::make_shared<Head>();
  };
  const TemporaryFolder folder;
  for (const char* name : {"table.weight", "head.weight"}) {
    State one = State::dict();
    one.to_dict().emplace_back(name, State(torch::full({5, 2}, 3.0)));
    levin::save_state(one, folder / "one.pt");
    Tied net;
    const levin::WeightsReport report = load_weights(net, folder / "one.pt");
    CHECK(report.is_complete());
    CHECK(net.table->weight.eq(3).all().item<bool>());
    CHECK(net.head->weight.is_same(net.table->weight));
  }
  // Two weights of equal shape that are not tied are two.
  struct Apart : torch::nn::Module {
    torch::Tensor a = register_parameter("a", torch::ones({2})), b = register_parameter("b", torch::ones({2}));
  } apart;
  State one = State::dict();
  one.to_dict().emplace_back("a", State(torch::ones({2})));
  levin::save_state(one, folder / "one.pt");
  CHECK(contains(error_text<UsageError>([&] { load_weights(apart, folder / "one.pt"); }), "missing: b [2]"));
}

TEST_CASE("keys that do not fit are listed, and nothing is changed") {
  const TemporaryFolder folder;
  Net net;
  const torch::Tensor before = net.head->weight.detach().clone();
  State state =
      State::dict({{"scale", torch::full({}, 9.0)}, {"steps", torch::zeros({2})}, {"block.0.bias", 1}, {"extra", 2}});
  for (const char* key : {"block.0.weight", "block.1.weight", "block.1.bias", "block.1.running_mean",
                          "block.1.running_var", "block.1.num_batches_tracked"})
    state[key] = module_state_dict(net).at(key);
  levin::save_state(state, folder / "odd.pt");
  const std::string text = error_text<UsageError>([&] { load_weights(net, folder / "odd.pt"); });
  CHECK(contains(text, "odd.pt: the weights do not fit the module"));
  CHECK(contains(text, "\n  missing: head.weight [2, 3]"));
  CHECK(contains(text, "\n  of another shape: steps (is [2], the module's is [1])"));
  CHECK(contains(text, "\n  not a tensor: block.0.bias (a int)"));
  CHECK(contains(text, "\n  unexpected: extra"));
  CHECK(net.scale.item<float>() == 1);
  CHECK(torch::equal(net.head->weight, before));
}

TEST_CASE("without strict only shapes must fit") {
  Net net;
  const State part = State::dict({{"scale", torch::full({}, 9.0)}, {"extra", 1}});
  CHECK(contains(error_text<UsageError>([&] { load_module_state_dict(net, part); }), "missing: steps [1]"));
  load_module_state_dict(net, part, {.strict = false});
  CHECK(net.scale.item<float>() == 9);
  const State wrong = State::dict({{"scale", torch::ones({3})}});
  CHECK(contains(error_text<UsageError>([&] { load_module_state_dict(net, wrong, {.strict = false}); }),
                 "of another shape"));
}

TEST_CASE("a file without a state dict is an error that names it") {
  const TemporaryFolder folder;
  Net net;
  levin::save_state(State::list(), folder / "list.pt");
  CHECK(contains(error_text<UsageError>([&] { load_weights(net, folder / "list.pt"); }),
                 "list.pt: a state dict was expected, found a list"));
  CHECK(contains(error_text<UsageError>([&] { load_weights(net, folder / "none.pt"); }), "there is no such file"));
}

TEST_CASE("safetensors files load and are written, and are recognised by their content") {
  const TemporaryFolder folder;
  Net source, target, other;
  levin::save_weights(source, folder / "a.safetensors");
  CHECK(levin::is_safetensors_file(folder / "a.safetensors"));
  std::filesystem::copy_file(folder / "a.safetensors", folder / "a.bin");
  CHECK(load_weights(target, folder / "a.bin").is_complete());
  CHECK(torch::equal(target.head->weight, source.head->weight));
  // A state dict under the other name.
  levin::save_state(module_state_dict(other), folder / "b.safetensors");
  CHECK(load_weights(target, folder / "b.safetensors").loaded.size() == 10);
  CHECK(torch::equal(target.head->weight, other.head->weight));
  CHECK(contains(error_text<UsageError>([&] { load_weights(target, folder / "none.safetensors"); }),
                 "none.safetensors: there is no such file"));
}

TEST_CASE("without strict what fits is loaded, and the rest reported") {
  const TemporaryFolder folder;
  Net net;
  const torch::Tensor before = net.head->weight.detach().clone();
  levin::save_state(
      State::dict({{"scale", torch::full({}, 9.0)}, {"head.weight", torch::ones({5, 3})}, {"extra", torch::ones({2})}}),
      folder / "part.pt");
  const levin::WeightsReport report = load_weights(net, folder / "part.pt", {.strict = false});
  CHECK(report.loaded == std::vector<std::string>{"scale"});
  CHECK(report.missing.size() == 8);
  CHECK(report.missing[0].name == "steps");
  CHECK(report.missing[0].expected == "[1]");
  REQUIRE(report.mismatched.size() == 1);
  CHECK(report.mismatched[0].found == "[5, 3]");
  CHECK(report.mismatched[0].expected == "[2, 3]");
  REQUIRE(report.unexpected.size() == 1);
  CHECK(contains(report.text(), "\n  unexpected: extra [2]"));
  CHECK(net.scale.item<float>() == 9);
  CHECK(torch::equal(net.head->weight, before));

  levin::save_state(State::dict({{"other", torch::ones({1})}}), folder / "none.pt");
  CHECK(contains(error_text<UsageError>([&] { load_weights(net, folder / "none.pt", {.strict = false}); }),
                 "the weights do not fit the module"));
}

TEST_CASE("prefixes that wrappers put before names are removed if the names fit then") {
  const TemporaryFolder folder;
  Net net;
  for (const std::string prefix : {"module.", "model.", "module._orig_mod.", "net.", "model.module."}) {
    INFO(prefix);
    State state = State::dict();
    const State dict = module_state_dict(Net());
    for (const auto& [key, value] : dict.to_dict()) state[prefix + levin::to_text(key)] = value;
    levin::save_state(State::dict({{"state_dict", state}}), folder / "wrapped.ckpt");
    const levin::WeightsReport report = load_weights(net, folder / "wrapped.ckpt");
    CHECK(report.is_complete());
    CHECK(report.removed_prefix == prefix);
    CHECK(torch::equal(net.head->weight, state.at(prefix + "head.weight").to_tensor()));
  }
}

TEST_CASE("weights of the network alone load into the module around it") {
  struct Around : torch::nn::Module {
    torch::nn::Linear net = register_module("network", torch::nn::Linear(2, 3));
  };
  const TemporaryFolder folder;
  torch::nn::Linear linear(2, 3);
  levin::save_weights(*linear, folder / "linear.pt");
  Around around;
  CHECK(load_weights(around, folder / "linear.pt").added_prefix == "network.");
  CHECK(torch::equal(around.net->weight, linear->weight));
}

TEST_CASE("a prefix takes a part of a file") {
  const TemporaryFolder folder;
  torch::nn::Linear linear(3, 2);
  levin::save_state(State::dict({{"backbone.weight", torch::ones({2, 3})},
                                 {"backbone.bias", torch::ones({2})},
                                 {"head.weight", torch::ones({9})}}),
                    folder / "whole.pt");
  CHECK(load_weights(*linear, folder / "whole.pt", {.prefix = "backbone."}).is_complete());
  CHECK(linear->weight.sum().item<float>() == 6);
  CHECK(contains(error_text<UsageError>([&] { load_weights(*linear, folder / "whole.pt", {.prefix = "body."}); }),
                 "whole.pt: no key begins with the prefix body.; the first is backbone.weight"));
  CHECK(
      contains(error_text<UsageError>([&] { load_weights(*linear, folder / "whole.pt"); }), "missing: weight [2, 3]"));
}
