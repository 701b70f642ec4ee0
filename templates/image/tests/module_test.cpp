#include "../src/module.h"

#include <iostream>

#include "../src/data.h"
#include "check.h"

int main() {
  levin::seed_everything(1);
  const auto module = levin::make_module<PictureClassifier>(PictureClassifier::Options{});
  check(module->forward(torch::zeros({2, 3, 24, 20})).sizes() == torch::IntArrayRef({2, 3}),
        "there is one logit a class");

  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_epochs = 3;
  options.seed = 1;
  Pictures data({.train_size = 600, .val_size = 90});
  const levin::RunResult result = levin::Trainer(options).fit(*module, data);
  std::cout << "val_acc " << result.metrics.at("val_acc") << "\n";
  check(result.metrics.at("val_acc") > 0.6, "three epochs teach it more than chance (0.33)");
  return failures == 0 ? 0 : 1;
}
