#include "../src/module.h"

#include <levin/trainer/session/session.h>

#include <iostream>

#include "../src/pendulum.h"
#include "check.h"

int main() {
  Pendulum pendulum(/*seed=*/1);
  pendulum.measure();
  Pendulum same(/*seed=*/1);
  same.load_state_dict(pendulum.state_dict());
  check(torch::equal(same.measure().input(), pendulum.measure().input()), "a checkpoint holds the pendulum");

  levin::seed_everything(1);
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.max_steps = 400;
  options.seed = 1;
  levin::Session session = levin::Trainer(options).start(levin::make_module<Predictor>(Predictor::Options{}));
  double first = 0, last = 0;
  for (int64_t i = 0; session.next(); ++i) {
    last = session.step(pendulum.measure()).loss.item<double>();
    if (i == 0) first = last;
  }
  session.finish();
  std::cout << "loss " << first << ", later " << last << "\n";
  check(last < 0.2 * first, "400 steps teach it most of how the pendulum swings");
  return failures == 0 ? 0 : 1;
}
