// Optimizers with `fused` on the CPU: the numbers of LibTorch's fused kernels, which Python's fused=True calls.
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;

namespace {

const nlohmann::ordered_json& cases() {
  static const auto all = nlohmann::ordered_json::parse(R"([
    {"class": "SGD", "lr": 0.1, "fused": true},
    {"class": "SGD", "lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01, "fused": true},
    {"class": "SGD", "lr": 0.05, "momentum": 0.8, "nesterov": true, "maximize": true, "fused": true},
    {"class": "Adam", "fused": true},
    {"class": "Adam", "lr": 0.01, "betas": [0.3, 0.99], "eps": 1e-7, "weight_decay": 0.1, "amsgrad": true, "fused": true},
    {"class": "AdamW", "lr": 0.02, "fused": true},
    {"class": "AdamW", "lr": 0.02, "weight_decay": 0.2, "amsgrad": true, "maximize": true, "fused": true},
    {"class": "Adagrad", "fused": true},
    {"class": "Adagrad", "lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.02, "initial_accumulator_value": 0.1, "fused": true}
  ])");
  return all;
}

/// Tensors that do and do not fill the kernels' vectors; one of them is channels-last.
std::vector<at::Tensor> weights(at::ScalarType dtype) {
  std::vector<at::Tensor> all;
  for (const int64_t size : {1, 7, 16, 37, 4096, 100'003}) all.push_back(fill({size}, dtype).requires_grad_());
  all.push_back(fill({5, 3, 3, 3}, dtype).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_());
  return all;
}

at::Tensor gradient(const at::Tensor& parameter, int64_t step) {
  return parameter.detach().mul(1.7 + static_cast<double>(step)).cos();
}

/// A state as the kernels take it.
struct Kernel {
  Kernel(nlohmann::ordered_json options_, const std::vector<at::Tensor>& parameters_) : options(std::move(options_)) {
    for (const at::Tensor& p : parameters_) {
      parameters.push_back(p.detach());
      for (auto* const list : {&first, &second, &third}) list->push_back(at::zeros_like(p));
      if (options["class"] == "Adagrad") first.back().fill_(number("initial_accumulator_value", 0));
      steps.push_back(at::zeros({}, at::kFloat));
    }
  }
  double number(const char* name, double otherwise) const { return options.value(name, otherwise); }
  bool flag(const char* name) const { return options.value(name, false); }

  void step(const std::vector<at::Tensor>& gradients) {
    for (const at::Tensor& count : steps) count.add_(1);
    const std::string name = options["class"];
    const std::vector<double> betas = options.value("betas", std::vector<double>{0.9, 0.999});
    const double decay = number("weight_decay", name == "AdamW" ? 0.01 : 0);
    const auto adam = [&](auto&& kernel) {
      kernel(parameters, gradients, first, second, flag("amsgrad") ? third : std::vector<at::Tensor>(), steps,
             number("lr", 1e-3), betas[0], betas[1], decay, number("eps", 1e-8), flag("amsgrad"), flag("maximize"));
    };
    if (name == "Adam") adam([](auto&&... all) { at::_fused_adam_(all...); });
    if (name == "AdamW") adam([](auto&&... all) { at::_fused_adamw_(all...); });
    if (name == "Adagrad")
      at::_fused_adagrad_(parameters, gradients, first, steps, number("lr", 1e-2), number("lr_decay", 0), decay,
                          number("eps", 1e-10), flag("maximize"));
    if (name == "SGD")
      at::_fused_sgd_(parameters, gradients, options.contains("momentum") ? first : std::vector<at::Tensor>(), decay,
                      number("momentum", 0), number("lr", 1e-3), number("dampening", 0), flag("nesterov"),
                      flag("maximize"), /*is_first_step=*/steps[0].item<float>() == 1);
  }

  nlohmann::ordered_json options;
  std::vector<at::Tensor> parameters = {}, first = {}, second = {}, third = {}, steps = {};
};

bool are_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!a[i].detach().equal(b[i].detach())) return false;
  return true;
}

}  // namespace

TEST_CASE("fused steps have the bits of LibTorch's fused kernels") {
  const int threads = at::get_num_threads();
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
  at::set_num_threads(GENERATE(1, 2));
  for (const auto& options : cases()) {
    INFO(options.dump() << " of " << dtype << " in " << at::get_num_threads() << " threads");
    const std::vector<at::Tensor> ours = weights(dtype), theirs = weights(dtype);
    const auto optimizer = make(options, ours);
    Kernel kernel(options, theirs);
    for (int64_t step = 0; step < (dtype == at::kFloat ? 200 : 20); ++step) {
      std::vector<at::Tensor> gradients;
      const double multiplier = step % 3 == 0 ? 1 : 0.3;
      for (const at::Tensor& p : ours) {
        p.mutable_grad() = gradient(p, step);
        gradients.push_back(p.grad().mul(multiplier));
      }
      auto& levins = static_cast<levin::optim::Optimizer&>(*optimizer);
      levins.set_gradient_multiplier(multiplier);
      const int64_t version = ours[0]._version();
      levins.step();
      CHECK(ours[0]._version() > version);
      const at::NoGradGuard no_grad;
      kernel.step(gradients);
    }
    CHECK(are_equal(ours, theirs));
    CHECK(!are_equal(ours, weights(dtype)));
  }
  at::set_num_threads(threads);
}

TEST_CASE("fused steps have the bits of Python's fused=True over 200 steps") {
  const auto expected = python_reference("fused", cases());
  if (!expected) return;
  for (size_t i = 0; i < cases().size(); ++i) {
    INFO(cases()[i].dump());
    const std::vector<at::Tensor> ours = {fill({37, 3}, at::kFloat).requires_grad_(),
                                          fill({5}, at::kFloat).requires_grad_()};
    const auto optimizer = make(cases()[i], ours);
    for (int64_t step = 0; step < 200; ++step) {
      for (const at::Tensor& p : ours) p.mutable_grad() = gradient(p, step);
      static_cast<levin::optim::Optimizer&>(*optimizer).set_gradient_multiplier(0.3);
      optimizer->step();
    }
    CHECK(flat(ours).to(at::kDouble).equal(flat((*expected)[i])));
  }
}

TEST_CASE("fused steps of a resumed optimizer, also one of Python's, are those of the unbroken one") {
  for (const auto& options : cases()) {
    INFO(options.dump());
    const std::vector<at::Tensor> unbroken = weights(at::kFloat), resumed = weights(at::kFloat);
    const auto run = [](torch::optim::Optimizer& optimizer, const std::vector<at::Tensor>& all, int64_t from) {
      for (int64_t step = from; step < from + 5; ++step) {
        for (const at::Tensor& p : all) p.mutable_grad() = gradient(p, step);
        optimizer.step();
      }
    };
    const auto whole = make(options, unbroken), first = make(options, resumed);
    run(*whole, unbroken, 0);
    run(*whole, unbroken, 5);
    run(*first, resumed, 0);
    nlohmann::ordered_json plain = options;
    plain.erase("fused");  // is in the state, as in Python's
    const auto second = make(plain, resumed);
    levin::optim::load_optimizer_state_dict(*second, levin::optim::optimizer_state_dict(*first));
    run(*second, resumed, 5);
    CHECK(are_equal(unbroken, resumed));
  }
}

TEST_CASE("fused steps of a parameter's parts are those of the whole") {
  for (const auto& options : cases()) {
    INFO(options.dump());
    const at::Tensor whole = fill({203}, at::kFloat).requires_grad_();
    const at::Tensor parts = fill({203}, at::kFloat);
    const at::Tensor first = parts.narrow(0, 0, 101).requires_grad_(),
                     second = parts.narrow(0, 101, 98).requires_grad_(),
                     third = parts.narrow(0, 199, 4).requires_grad_();
    const auto one = make(options, {whole}), divided = make(options, {first, second, third});
    static_cast<levin::optim::Optimizer&>(*divided).set_parts({{first, 0, 203}, {second, 101, 203}, {third, 199, 203}});
    for (int64_t step = 0; step < 20; ++step) {
      for (const at::Tensor& p : {whole, first, second, third}) p.mutable_grad() = gradient(p, step);
      one->step();
      divided->step();
    }
    CHECK(torch::cat({first, second, third}).detach().equal(whole.detach()));
  }
}
