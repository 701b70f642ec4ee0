#include "../src/module.h"

#include <iostream>

#include "check.h"

int main() {
  Carts carts(3, /*seed=*/1);
  const torch::Tensor right = torch::ones({3}, torch::kBool);
  for (int64_t i = 0; i < 5; ++i) carts.step(right);
  Carts same(3, /*seed=*/2);
  same.load_state_dict(carts.state_dict());
  check(torch::equal(same.observations(), carts.observations()), "a checkpoint holds the carts");
  int64_t fallen = 0;
  for (int64_t i = 0; i < 30; ++i) fallen += carts.step(right).fell.sum().item<int64_t>();
  check(fallen >= 3, "carts that are only pushed to the right fall");

  levin::seed_everything(1);
  const auto module = levin::make_module<Agent>(Agent::Options{});
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_epochs = 20;
  options.seed = 1;
  levin::Trainer(options).fit(*module);
  std::cout << "mean_steps " << module->mean_steps << "\n";
  check(module->mean_steps > 40, "the agent keeps the poles up longer than chance does (about 20 steps)");
  return failures == 0 ? 0 : 1;
}
