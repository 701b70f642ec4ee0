// Moving averages of parameters, against Python's AveragedModel.
#include <levin/modules/optim/ema.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"

using levin::State;
using levin::UsageError;
using levin::optim::EMA;
namespace nn = torch::nn;

namespace {

nn::Sequential network() { return nn::Sequential(nn::Linear(nn::LinearOptions(3, 2)), nn::BatchNorm1d(2)); }

/// Sets all values of step `step`, as the reference does: each tensor has different numbers.
void set_values(nn::Module& module, int step) {
  const at::NoGradGuard no_grad;
  double shift = step;
  for (auto& parameter : module.parameters())
    parameter.copy_(torch::arange(parameter.numel(), torch::kDouble).add(shift += 1).sin().reshape(parameter.sizes()));
  for (auto& buffer : module.buffers())
    buffer.copy_(torch::arange(buffer.numel(), torch::kDouble).add(shift += 1).reshape(buffer.sizes()));
}

std::vector<double> values(const at::Tensor& tensor) {
  const at::Tensor row = tensor.to(torch::kDouble).flatten().contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

}  // namespace

TEST_CASE("averages, with and without buffers, are those of Python's AveragedModel") {
  const nlohmann::ordered_json cases = {{{"decay", 0.9}, {"use_buffers", false}},
                                        {{"decay", 0.25}, {"use_buffers", true}},
                                        {{"decay", 0.0}, {"use_buffers", false}}};
  const auto expected = python_reference("ema", cases);
  if (!expected) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    nn::Sequential net = network();
    net->to(torch::kDouble);
    EMA ema(*net, {.decay = cases[i]["decay"], .use_buffers = cases[i]["use_buffers"]});
    for (int step = 0; step < 5; ++step) {
      set_values(*net, step);
      ema.update();
    }
    const State state = ema.state_dict();
    for (const auto& [name, numbers] : (*expected)[i].items()) {
      CAPTURE(i, name);
      // Python averages the integer counter, too, where buffers are averaged; here it is the module's.
      if (cases[i]["use_buffers"] && name == "module.1.num_batches_tracked") continue;
      CHECK(values(state.at(name).to_tensor()) == numbers.get<std::vector<double>>());
    }
    CHECK(state.size() == (*expected)[i].size());
    CHECK(ema.updates() == 5);
  }
}

TEST_CASE("the averages are the module's for a while, or for good") {
  nn::Sequential net = network();
  EMA ema(*net, {.decay = 0.5});
  set_values(*net, 0);
  ema.update();
  const at::Tensor before = net->parameters()[0].detach().clone();
  set_values(*net, 7);
  const at::Tensor after = net->parameters()[0].detach().clone();
  ema.update();
  const at::Tensor average = ema.average("0.weight").clone();
  CHECK(torch::allclose(average, (before + after) / 2));
  {
    const EMA::Applied averaged = ema.apply();
    CHECK(torch::equal(net->parameters()[0], average));
    CHECK(net->parameters()[0].requires_grad());
  }
  CHECK(torch::equal(net->parameters()[0], after));
  CHECK(torch::equal(ema.average("0.weight"), average));
  ema.copy_to_module();
  CHECK(torch::equal(net->parameters()[0], average));
}

TEST_CASE("averages follow the module's dtype, and their state is taken over by another") {
  nn::Sequential net = network();
  EMA ema(*net, {.decay = 0.5});
  ema.update();
  net->to(torch::kDouble);
  ema.update();
  CHECK(ema.average("0.weight").scalar_type() == torch::kDouble);
  nn::Sequential other = network();
  EMA again(*other, {.decay = 0.5});
  again.load_state_dict(ema.state_dict());
  CHECK(again.updates() == 2);
  CHECK(torch::allclose(again.average("0.weight"), ema.average("0.weight").to(torch::kFloat)));
}

TEST_CASE("EMA refuses what it cannot average") {
  nn::Sequential net = network();
  CHECK(error_text<UsageError>([&] { EMA(*net, {.decay = 1.5}); }) ==
        "EMA.decay: expected a number from 0 to 1, got 1.5");
  CHECK(error_text<UsageError>([] { EMA(*nn::Sequential(nn::Flatten())); }) ==
        "EMA: the module has no parameters to average");
  EMA ema(*net);
  CHECK(error_text<UsageError>([&] { ema.average("0.weigth"); }) ==
        "EMA: the module has no parameter or buffer '0.weigth' (did you mean 0.weight?)");
  State state = ema.state_dict();
  state["module.0.bias"] = torch::ones({3});
  CHECK(contains(error_text<UsageError>([&] { ema.load_state_dict(state); }), "0.bias of shape [3], the module of"));
  CHECK(error_text<UsageError>([&] { ema.load_state_dict(State::dict()); }) ==
        "the EMA's state has no average of 0.weight");
  CHECK(ema.updates() == 0);
}

TEST_CASE("a tensor that is registered twice is exchanged once") {
  struct Tied : nn::Module {
    nn::Linear one = register_module("one", nn::Linear(2, 1)), same = register_module("same", one);
  };
  Tied net;
  EMA ema(net, {.decay = 0.5, .use_buffers = true});
  const auto set = [&](double value) {
    const at::NoGradGuard no_grad;
    net.one->weight.fill_(value);
  };
  const auto weight = [&] { return net.one->weight.detach()[0][0].item<double>(); };
  set(1);
  ema.update();
  set(3);
  ema.update();
  {
    const auto averaged = ema.apply();
    CHECK(weight() == 2);
  }
  CHECK(weight() == 3);
  // A state dict holds the tensor under each of its names, as Python's does.
  for (const char* name : {"one.weight", "same.weight"}) {
    CHECK(ema.average(name)[0][0].item<double>() == 2);
    CHECK(ema.state_dict().at(std::string("module.") + name).to_tensor()[0][0].item<double>() == 2);
  }
  EMA other(net);
  other.load_state_dict(ema.state_dict());
  CHECK(other.average("same.weight")[0][0].item<double>() == 2);
  ema.copy_to_module();
  CHECK(weight() == 2);
}
