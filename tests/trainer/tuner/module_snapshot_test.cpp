#include <levin/trainer/tuner/module_snapshot.h>

#include "tests/catch.h"
#include "tests/trainer/tuner/tuned.h"

TEST_CASE("a snapshot restores a module to the bit, with its memory and its layout") {
  Tuned module;
  const torch::Tensor weight = module.parameters().front();
  const torch::Tensor view = module.net->ptr(0)->as<torch::nn::Linear>()->weight.detach();
  const torch::Tensor other_view = module.net->ptr(3)->as<torch::nn::Linear>()->weight.detach();
  module.net->ptr(3)->as<torch::nn::Linear>()->weight.set_requires_grad(false);
  module.net->ptr(1)->eval();
  const auto before = state_tensors(module);
  levin::ModuleSnapshot snapshot(module);
  {
    const torch::NoGradGuard no_grad;
    for (const auto& parameter : module.parameters()) parameter.add_(1);
    for (const auto& buffer : module.buffers()) buffer.add_(1);
  }
  weight.mutable_grad() = torch::ones_like(weight);
  module.unfreeze();
  module.to(torch::kDouble);
  auto late = module.register_module("late", torch::nn::Linear(2, 2));
  const auto late_weight = late->weight.detach().clone();
  snapshot.add_new();
  {
    const torch::NoGradGuard no_grad;
    late->weight.zero_();
  }
  snapshot.restore();
  const auto after = state_tensors(module);
  for (size_t i = 0; i < before.size(); ++i) {
    bool found = false;
    for (const auto& tensor : after)
      found = found || (tensor.dtype() == before[i].dtype() && tensor.sizes() == before[i].sizes() &&
                        torch::equal(tensor, before[i]));
    CHECK(found);
  }
  CHECK(torch::equal(late->weight, late_weight));
  CHECK(module.net->ptr(0)->as<torch::nn::Linear>()->weight.const_data_ptr() == view.const_data_ptr());
  CHECK(module.net->ptr(3)->as<torch::nn::Linear>()->weight.const_data_ptr() == other_view.const_data_ptr());
  CHECK_FALSE(module.net->ptr(0)->as<torch::nn::Linear>()->weight.grad().defined());
  CHECK_FALSE(module.net->ptr(3)->as<torch::nn::Linear>()->weight.requires_grad());
  CHECK_FALSE(module.net->ptr(1)->is_training());
  CHECK(module.net->ptr(2)->is_training());
}

TEST_CASE("a snapshot keeps tied weights tied") {
  struct Tied : Tuned {
    Tied() : second(register_module("second", torch::nn::Linear(4, 8))) {
      second->weight = net->ptr(0)->as<torch::nn::Linear>()->weight;
    }
    torch::nn::Linear second;
  } module;
  levin::ModuleSnapshot snapshot(module);
  const auto before = module.second->weight.detach().clone();
  {
    const torch::NoGradGuard no_grad;
    module.second->weight.add_(1);
  }
  snapshot.restore();
  CHECK(torch::equal(module.second->weight, before));
  CHECK(module.second->weight.is_same(module.net->ptr(0)->as<torch::nn::Linear>()->weight));
}
