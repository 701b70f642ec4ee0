#include <levin/modules/optim/optimizers/schedule_free_adamw.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/types.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;
using levin::UsageError;
namespace optim = levin::optim;

namespace {

const nlohmann::ordered_json& schedule_free_cases() {
  static const auto cases = nlohmann::ordered_json::parse(R"([
    {"lr": 0.02},
    {"lr": 0.05, "betas": [0.95, 0.99], "weight_decay": 0.1, "warmup_steps": 20},
    {"lr": 0.02, "r": 1, "weight_lr_power": 1, "warmup_steps": 5, "eps": 1e-6}
  ])");
  return cases;
}

std::unique_ptr<torch::optim::Optimizer> optimizer_of(nlohmann::ordered_json how, std::vector<at::Tensor> weights) {
  how["class"] = "ScheduleFreeAdamW";
  return make(how, std::move(weights));
}

optim::ScheduleFreeAdamW& typed(torch::optim::Optimizer& optimizer) {
  return dynamic_cast<optim::ScheduleFreeAdamW&>(optimizer);
}

}  // namespace

TEST_CASE("schedule-free AdamW trains the paper's y and evaluates its x") {
  const auto expected = python_reference("schedule_free", schedule_free_cases());
  if (!expected) return;
  for (size_t i = 0; i < schedule_free_cases().size(); ++i) {
    INFO(schedule_free_cases()[i].dump());
    const auto weights = parameters();
    const auto optimizer = optimizer_of(schedule_free_cases()[i], weights);
    train(*optimizer, weights, 100);
    const at::Tensor trained = flat(weights);
    CHECK(distance(trained, flat((*expected)[i]["y"])) < 1e-10);
    typed(*optimizer).use_averages();
    CHECK(distance(flat(weights), trained) > 1e-4);
    CHECK(distance(flat(weights), flat((*expected)[i]["x"])) < 1e-10);
  }
}

TEST_CASE("the averages of schedule-free AdamW in the middle of training change nothing in it") {
  const auto whole = parameters(), seen = parameters();
  train(*optimizer_of({{"lr", 0.02}}, whole), whole, 20);
  const auto optimizer = optimizer_of({{"lr", 0.02}}, seen);
  for (int64_t i = 0; i < 20; ++i) {
    train(*optimizer, seen, 1);
    const at::Tensor before = flat(seen);
    typed(*optimizer).use_averages();
    typed(*optimizer).use_averages();
    CHECK(typed(*optimizer).uses_averages());
    if (i == 10)
      CHECK(contains(error_text<UsageError>([&] { optimizer->step(); }), "call use_trained() before the next step"));
    typed(*optimizer).use_trained();
    CHECK(torch::equal(flat(seen), before));
    if (i == 10) break;
  }
}

TEST_CASE("schedule-free AdamW resumes to the bit") {
  for (const auto& how : schedule_free_cases()) {
    const auto whole = parameters(at::kFloat), first = parameters(at::kFloat);
    train(*optimizer_of(how, whole), whole, 30);
    const auto before = optimizer_of(how, first);
    train(*before, first, 15);
    std::vector<at::Tensor> second;
    for (const at::Tensor& one : first) second.push_back(one.detach().clone().requires_grad_());
    const auto after = optimizer_of({}, second);
    optim::load_optimizer_state_dict(*after, optim::optimizer_state_dict(*before));
    train(*after, second, 15);
    CHECK(torch::equal(flat(second), flat(whole)));
  }
}

TEST_CASE("schedule-free AdamW refuses a share of 0") {
  CHECK(contains(error_text<UsageError>([&] { optim::ScheduleFreeAdamW(parameters(), {.betas = {0, 0.9}}); }),
                 "ScheduleFreeAdamW.betas[0]: expected a number above 0, got 0"));
}
