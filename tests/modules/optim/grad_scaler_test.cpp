#include <levin/modules/optim/grad_scaler.h>
#include <levin/modules/optim/engine/gradients.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <torch/optim/adagrad.h>
#include <torch/types.h>

#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using levin::UsageError;
using levin::optim::GradScaler;
using small_training::fill;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Scale and growth tracker after each step, and the parameters at the end, as python_reference.py's grad_scaler.
std::vector<double> course_of(const nlohmann::ordered_json& item) {
  const auto dtype = item["dtype"] == "float32" ? at::kFloat : at::kDouble;
  auto parameters = small_training::parameters(dtype);
  levin::optim::SGD optimizer(parameters, {.lr = 0.01, .momentum = 0.9});
  GradScaler scaler({.init_scale = item["init_scale"],
                     .growth_factor = item["growth_factor"],
                     .backoff_factor = item["backoff_factor"],
                     .growth_interval = item["growth_interval"]});
  std::vector<double> course;
  for (int64_t step = 0; step < 2000; ++step) {
    optimizer.zero_grad();
    scaler.scale(small_training::loss_of(parameters)).backward();
    for (const int64_t every : item["infinite_every"])
      if (step % every == every - 1) parameters[1].mutable_grad()[2] = step % 2 ? kInfinity : -kInfinity;
    if (step % 97 == 96) parameters[0].mutable_grad()[0][0] = std::numeric_limits<double>::quiet_NaN();
    if (step % 3 == 0) scaler.unscale_(optimizer);
    scaler.step(optimizer);
    scaler.update();
    course.push_back(scaler.get_scale());
    course.push_back(static_cast<double>(scaler.state_dict().at("_growth_tracker").to_int()));
  }
  const at::Tensor end = small_training::flat(parameters).to(at::kDouble);
  course.insert(course.end(), end.const_data_ptr<double>(), end.const_data_ptr<double>() + end.numel());
  return course;
}

/// One parameter and its optimizer.
struct Small {
  at::Tensor weight = torch::ones({3}, torch::kFloat).requires_grad_();
  levin::optim::SGD optimizer{{weight}, {.lr = 1, .momentum = 0.5}};
};

}  // namespace

TEST_CASE("the scale's course over 2,000 steps with planted infinities equals Python's GradScaler") {
  const auto cases = nlohmann::ordered_json::parse(R"([
    {"dtype": "float32", "init_scale": 65536, "growth_factor": 2, "backoff_factor": 0.5, "growth_interval": 2000,
     "infinite_every": [331]},
    {"dtype": "float32", "init_scale": 1024, "growth_factor": 2, "backoff_factor": 0.5, "growth_interval": 20,
     "infinite_every": [57, 130]},
    {"dtype": "float32", "init_scale": 1.7, "growth_factor": 1.3, "backoff_factor": 0.7, "growth_interval": 3,
     "infinite_every": [41]},
    {"dtype": "float64", "init_scale": 65536, "growth_factor": 2, "backoff_factor": 0.5, "growth_interval": 5,
     "infinite_every": [1999]}
  ])");
  const auto expected = python_reference("grad_scaler", cases);
  if (!expected) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].dump());
    const auto ours = course_of(cases[i]);
    const auto theirs = (*expected)[i].get<std::vector<double>>();
    REQUIRE(ours.size() == theirs.size());
    for (size_t k = 0; k < 4000; ++k)
      if (ours[k] != theirs[k]) FAIL("step " << k / 2 << ": " << ours[k] << ", in Python " << theirs[k]);
    for (size_t k = 4000; k < ours.size(); ++k) CHECK(ours[k] == Approx(theirs[k]).epsilon(1e-5));
  }
}

TEST_CASE("a skipped step changes nothing but the scale") {
  Small small;
  GradScaler scaler({.init_scale = 8});
  const auto backward = [&] {
    small.optimizer.zero_grad();
    scaler.scale(small.weight.sum()).backward();
  };
  backward();
  CHECK(scaler.step(small.optimizer));
  scaler.update();
  const at::Tensor weight = small.weight.detach().clone();
  const auto buffer = [&] {
    return levin::optim::optimizer_state_dict(small.optimizer)
        .at("state")
        .at(0)
        .at("momentum_buffer")
        .to_tensor()
        .clone();
  };
  const at::Tensor momentum = buffer();
  backward();
  small.weight.mutable_grad()[1] = kInfinity;
  CHECK_FALSE(scaler.step(small.optimizer));
  scaler.update();
  CHECK(torch::equal(small.weight, weight));
  CHECK(torch::equal(buffer(), momentum));
  CHECK(scaler.get_scale() == 4);
  backward();
  CHECK(scaler.step(small.optimizer));
  CHECK_FALSE(torch::equal(small.weight, weight));
}

TEST_CASE("unscaled gradients are the plain ones, times a multiplier") {
  Small small;
  GradScaler scaler({.init_scale = 1024});
  scaler.scale((small.weight * fill({3}, at::kFloat)).sum()).backward();
  levin::optim::Gradients gradients({small.weight});
  scaler.unscale_(small.optimizer, gradients, 2.0);
  CHECK(torch::equal(small.weight.grad(), fill({3}, at::kFloat) * 2));
  CHECK(scaler.is_unscaled(small.optimizer));
  CHECK(scaler.found_inf(small.optimizer).item<float>() == 0);
  // Ranks that agree on the check write into it.
  scaler.found_inf(small.optimizer).fill_(1);
  CHECK_FALSE(scaler.step(small.optimizer));
  CHECK(scaler.all_stepped());
}

TEST_CASE("optimizers share a scaler: one skips, the other steps, the scale falls") {
  Small one, other;
  GradScaler scaler({.init_scale = 16});
  scaler.scale(one.weight.sum() + other.weight.sum()).backward();
  one.weight.mutable_grad()[0] = kInfinity;
  CHECK_FALSE(scaler.step(one.optimizer));
  CHECK_FALSE(scaler.is_unscaled(other.optimizer));
  CHECK(scaler.step(other.optimizer));
  scaler.update();
  CHECK(scaler.get_scale() == 8);
  CHECK_FALSE(scaler.is_in_use());
}

TEST_CASE("a scaler says which call came too early or twice") {
  Small small;
  GradScaler scaler;
  CHECK(contains(error_text<UsageError>([&] { scaler.step(small.optimizer); }), "nothing was scaled yet"));
  CHECK(contains(error_text<UsageError>([&] { scaler.update(); }), "nothing was scaled yet"));
  scaler.scale(small.weight.sum()).backward();
  CHECK(contains(error_text<UsageError>([&] { scaler.update(); }), "no optimizer was unscaled or stepped"));
  CHECK(contains(error_text<UsageError>([&] { scaler.found_inf(small.optimizer); }), "call unscale_(optimizer) first"));
  scaler.unscale_(small.optimizer);
  CHECK(contains(error_text<UsageError>([&] { scaler.unscale_(small.optimizer); }),
                 "unscale_: it was called since the last update()"));
  scaler.step(small.optimizer);
  CHECK(contains(error_text<UsageError>([&] { scaler.unscale_(small.optimizer); }),
                 "unscale_: the optimizer has stepped since the last update()"));
  CHECK(contains(error_text<UsageError>([&] { scaler.step(small.optimizer); }),
                 "step: the optimizer has stepped since the last update()"));
  CHECK(contains(error_text<UsageError>([] { GradScaler({.growth_factor = 1}); }), "growth_factor above 1, got 1"));
  CHECK(contains(error_text<UsageError>([] { GradScaler({.backoff_factor = 1}); }), "backoff_factor below 1, got 1"));
  const at::Tensor half = torch::ones({2}, torch::kHalf).requires_grad_();
  levin::optim::SGD of_half({half}, {.lr = 1});
  scaler.scale(half.sum()).backward();
  CHECK(contains(error_text<UsageError>([&] { scaler.unscale_(of_half); }), "a gradient is float16"));
}

TEST_CASE("a scaler that is not enabled changes nothing") {
  Small small;
  GradScaler scaler({.growth_factor = 0, .enabled = false});
  const at::Tensor loss = small.weight.sum();
  CHECK(scaler.scale(loss).is_same(loss));
  loss.backward();
  small.weight.mutable_grad()[0] = kInfinity;
  scaler.unscale_(small.optimizer);
  CHECK(scaler.step(small.optimizer));
  scaler.update();
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.state_dict().size() == 0);
  CHECK(contains(error_text<UsageError>([&] { GradScaler().load_state_dict(scaler.state_dict()); }), "not enabled"));
}

TEST_CASE("a scaler resumes from another's state, before and after its first loss") {
  Small small;
  GradScaler first({.init_scale = 64, .growth_factor = 4, .growth_interval = 3});
  first.scale(small.weight.sum()).backward();
  first.step(small.optimizer);
  first.update();
  const levin::State saved = first.state_dict();
  CHECK(saved.at("scale").to_double() == 64);
  CHECK(saved.at("_growth_tracker").to_int() == 1);
  for (const bool used : {false, true}) {
    GradScaler second;
    if (used) second.scale(small.weight.sum());
    second.load_state_dict(saved);
    for (int i = 0; i < 2; ++i) {
      small.optimizer.zero_grad();
      second.scale(small.weight.sum()).backward();
      second.step(small.optimizer);
      second.update();
    }
    CHECK(second.get_scale() == 256);
  }
  first.update(10.0);
  CHECK(first.get_scale() == 10);
}

TEST_CASE("master weights keep the steps that float16 rounds away") {
  auto parameters = small_training::parameters(at::kHalf);
  const auto exact = small_training::parameters(at::kFloat);
  levin::optim::Adam optimizer(parameters, {.lr = 1e-5}), reference(exact, {.lr = 1e-5});
  levin::optim::MasterWeights masters(optimizer);
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < exact.size(); ++i) at::Tensor(exact[i]).copy_(parameters[i]);
  }
  for (int step = 0; step < 200; ++step) {
    masters.zero_grad();
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() = fill(parameters[i].sizes().vec(), at::kHalf);
      at::Tensor(exact[i]).mutable_grad() = parameters[i].grad().to(at::kFloat);
    }
    masters.take_gradients();
    optimizer.step();
    masters.write_back();
    reference.step();
  }
  const levin::State state = masters.state_dict();
  for (size_t i = 0; i < exact.size(); ++i) {
    CHECK(torch::equal(state.items()[i].to_tensor(), exact[i]));
    CHECK(torch::equal(parameters[i], exact[i].to(at::kHalf)));
    CHECK(parameters[i].scalar_type() == at::kHalf);
  }
}

TEST_CASE("master weights take over an optimizer's state, leave 32 bit alone, and are saved") {
  const at::Tensor half = torch::ones({3}, torch::kHalf).requires_grad_();
  const at::Tensor full = torch::ones({2}, torch::kFloat).requires_grad_();
  torch::optim::Adagrad optimizer({half, full}, torch::optim::AdagradOptions(0.1));  // has state from the start
  levin::optim::MasterWeights masters(optimizer);
  const auto& stepped = optimizer.param_groups()[0].params();
  CHECK(stepped[0].scalar_type() == at::kFloat);
  CHECK(stepped[1].is_same(full));
  half.mutable_grad() = torch::ones_like(half);
  full.mutable_grad() = torch::ones_like(full);
  masters.take_gradients();
  optimizer.step();
  masters.write_back();
  CHECK(half[0].item<float>() == Approx(0.9).epsilon(1e-3));
  CHECK(full[0].item<float>() == Approx(0.9));

  levin::optim::SGD other({torch::zeros({3}, torch::kHalf).requires_grad_()}, {.lr = 1});
  levin::optim::MasterWeights loaded(other);
  loaded.load_state_dict(masters.state_dict());
  CHECK(torch::equal(other.param_groups()[0].params()[0], stepped[0]));
  loaded.read_module();
  CHECK(other.param_groups()[0].params()[0].sum().item<float>() == 0);
  CHECK(contains(error_text<UsageError>([&] { loaded.load_state_dict(levin::State::list()); }),
                 "0 master weights, the optimizer steps 1"));
  CHECK(contains(error_text<UsageError>([&] { loaded.load_state_dict(levin::State::list({torch::ones({2})})); }),
                 "a master weight has the shape [2]"));
}
