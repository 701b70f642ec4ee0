// The program and its loop.
//
//   program [--config FILE] [--steps N] [--resume]    trains; --resume resumes the newest run that was stopped
//   program config check --config FILE                what `levin config` does: check, show, explain, schema
#include <levin/program/main.h>
#include <levin/modules/registry.h>
#include <levin/trainer/session/session.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "module.h"
#include "pendulum.h"

LEVIN_REGISTER_MODULE(Predictor);

namespace {

struct Arguments {
  std::string config = "config.json";
  int64_t steps = 0;  ///< 0: as the config says
  bool resumes = false;
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--resume")
      arguments.resumes = true;
    else if (word == "--config" && i + 1 < argc)
      arguments.config = argv[++i];
    else if (word == "--steps" && i + 1 < argc)
      arguments.steps = std::stoll(argv[++i]);
    else
      throw levin::UsageError("unknown argument '", word, "'; expected --config FILE, --steps N or --resume");
  }
  return arguments;
}

int run(const Arguments& arguments) {
  std::ifstream file(arguments.config);
  if (!file) throw levin::UsageError(arguments.config, ": the file cannot be read");
  const nlohmann::json config =
      nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  const int64_t seed = config.value("seed", 0);
  levin::TrainerOptions options = levin::TrainerOptions::embedded();  // prints nothing, and changes nothing of ours
  levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", config.value("trainer", nlohmann::json::object()));
  options.name = config.value("name", "run");
  options.seed = seed;
  if (arguments.steps > 0) options.max_steps = arguments.steps;
  nlohmann::json model = config.value("model", nlohmann::json::object());
  model.erase("class");
  Predictor::Options model_options;
  levin::schema_of<Predictor::Options>().set(&model_options, "model", model);

  levin::seed_everything(seed);  // the first weights
  const auto module = levin::make_module<Predictor>(model_options);
  Pendulum pendulum(seed);
  levin::Session session =
      levin::Trainer(options).start(module, {.ckpt_path = arguments.resumes ? "last" : "", .host_saves = true});
  session.register_state("pendulum", pendulum);
  while (session.next()) {
    const levin::StepResult result = session.step(pendulum.measure());
    const int64_t steps = session.state().global_step;
    if (steps % 250 == 0) std::cout << "step " << steps << ": loss " << result.loss.item<double>() << std::endl;
    if (session.due_to_save()) session.save();  // here the pendulum fits the weights
  }
  session.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "config") return levin::cli::main(argc, argv);
  try {
    return run(read(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 1;
  }
}
