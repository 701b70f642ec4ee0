#include <levin/modules/weights.h>
#include <levin/trainer/core/state_file.h>

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

TEST_CASE("what is no state dict is an error that names the file") {
  const TemporaryFolder folder;
  Net net;
  levin::save_state(State::list(), folder / "list.pt");
  CHECK(contains(error_text<UsageError>([&] { load_weights(net, folder / "list.pt"); }),
                 "list.pt: a state dict was expected, found a list"));
  CHECK(contains(error_text<UsageError>([&] { load_weights(net, folder / "none.pt"); }), "there is no such file"));
}
