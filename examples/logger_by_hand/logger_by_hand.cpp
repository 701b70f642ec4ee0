// A logger in a loop of your own, without a Trainer: TensorBoard shows runs/by_hand.
#include <levin/levin.h>

int main() {
  std::filesystem::create_directories("runs/by_hand");
  levin::TensorBoardLogger logger("runs/by_hand");  // or CSVLogger, JSONLinesLogger, or one with options
  logger.log_hyperparameters(R"({"lr": 0.1})");
  for (int64_t step = 1; step <= 100; ++step) logger.log_metrics({{"loss", 1.0 / double(step)}}, {.step = step});
  logger.log_histogram("weights", torch::randn({1000}), {.step = 100});
  logger.log_image("noise", torch::rand({3, 32, 32}), {.step = 100});
  logger.finalize("completed");
}
