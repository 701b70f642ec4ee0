// ParameterWatch, by which strategies and captured steps notice changes to the optimizers' groups.
#include <levin/modules/optim/engine/parameter_watch.h>
#include <levin/core/system/error.h>
#include <torch/optim/sgd.h>
#include <torch/torch.h>

#include "tests/catch.h"

using levin::optim::ParameterWatch;

namespace {

at::Tensor parameter() { return torch::ones({2}).requires_grad_(); }

struct Optimizers {
  std::vector<std::shared_ptr<torch::optim::Optimizer>> list = {
      std::make_shared<torch::optim::SGD>(std::vector<at::Tensor>{parameter(), parameter()}, 0.1),
      std::make_shared<torch::optim::SGD>(std::vector<at::Tensor>{parameter()}, 0.1)};
};

}  // namespace

TEST_CASE("a watch of parameters sees groups that are added, and tensors that are exchanged, once") {
  const Optimizers optimizers;
  ParameterWatch watch(optimizers.list);
  CHECK_FALSE(watch.has_changed());

  optimizers.list[1]->add_param_group(torch::optim::OptimizerParamGroup(std::vector<at::Tensor>{parameter()}));
  CHECK(watch.has_changed());
  CHECK_FALSE(watch.has_changed());

  optimizers.list[0]->param_groups()[0].params()[1] = parameter();
  optimizers.list[1]->param_groups()[1].params()[0] = parameter();
  CHECK(watch.has_changed());
  CHECK_FALSE(watch.has_changed());

  optimizers.list[0]->param_groups()[0].params().pop_back();
  CHECK(watch.has_changed());
  CHECK_FALSE(watch.has_changed());
}

TEST_CASE("a watch of parameters sees freezing only on request") {
  const Optimizers optimizers;
  torch::optim::Optimizer& optimizer = *optimizers.list[0];
  ParameterWatch tensors(optimizers.list), freezing(optimizer, ParameterWatch::Sees::TensorsAndFreezing);
  for (const bool trained : {false, true}) {
    optimizer.param_groups()[0].params()[0].requires_grad_(trained);
    CHECK_FALSE(tensors.has_changed());
    CHECK(freezing.has_changed());
    CHECK_FALSE(freezing.has_changed());
  }
}

TEST_CASE("a watch of parameters refuses a parameter that an optimizer has twice") {
  const Optimizers optimizers;
  ParameterWatch watch(optimizers.list);
  std::vector<at::Tensor>& held = optimizers.list[0]->param_groups()[0].params();
  held.push_back(held[0]);
  CHECK_THROWS_AS(watch.has_changed(), levin::UsageError);
}

TEST_CASE("a watch of no optimizer sees nothing") { CHECK_FALSE(ParameterWatch().has_changed()); }
