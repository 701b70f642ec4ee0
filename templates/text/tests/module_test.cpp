#include "../src/module.h"

#include <iostream>

#include "../src/data.h"
#include "check.h"

int main() {
  levin::seed_everything(1);
  const auto module = levin::make_module<ByteModel>(ByteModel::Options{.hidden = 64});
  const torch::Tensor bytes = torch::zeros({2, 7}, torch::kLong);
  check(module->forward(bytes).sizes() == torch::IntArrayRef({2, 7, 256}), "there is one logit for each possible byte");

  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_epochs = 3;
  options.seed = 1;
  Sentences data({.sentences = 600});
  const levin::RunResult result = levin::Trainer(options).fit(*module, data);
  std::cout << "val_loss " << result.metrics.at("val_loss") << ": " << module->continue_text("The old c", 40) << "\n";
  check(result.metrics.at("val_loss") < 1.5, "three epochs teach it more than the letters' frequencies (2.8 nats)");
  return failures == 0 ? 0 : 1;
}
