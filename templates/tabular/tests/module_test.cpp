#include "../src/module.h"

#include <iostream>

#include "../src/data.h"
#include "check.h"

int main() {
  levin::seed_everything(1);
  const auto module = levin::make_module<NumberPredictor>(NumberPredictor::Options{});
  check(module->forward(torch::zeros({5, 4})).sizes() == torch::IntArrayRef({5}), "there is one number a row");

  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_epochs = 10;
  options.seed = 1;
  Flats data({.train_size = 600, .val_size = 100});
  const levin::RunResult result = levin::Trainer(options).fit(*module, data);
  std::cout << "val_mae " << result.metrics.at("val_mae") << "\n";
  check(result.metrics.at("val_mae") < 0.5, "the error is far below the prices' spread (1.5)");
  return failures == 0 ? 0 : 1;
}
