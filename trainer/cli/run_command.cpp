#include <ATen/Context.h>
#include <levin/data/data_module.h>
#include <levin/trainer/cli/commands.h>
#include <levin/trainer/cli/report.h>
#include <levin/trainer/cli/stop_on_signal.h>
#include <levin/trainer/core/signals.h>
#include <levin/trainer/trainer.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

/// Calls `with_data` where the config names data; `alone` where the module brings its own loaders.
template <class WithData, class Alone>
auto dispatch(const std::shared_ptr<data::DataModule>& data, WithData with_data, Alone alone) {
  return data ? with_data(*data) : alone();
}

void run(const std::string& command, Trainer& trainer, LightningModule& module,
         const std::shared_ptr<data::DataModule>& data) {
  using data::DataModule;
  if (command == "fit") {
    print_result(
        std::cout,
        dispatch(data, [&](DataModule& d) { return trainer.fit(module, d); }, [&] { return trainer.fit(module); }));
  } else if (command == "validate") {
    print_metrics(std::cout, command,
                  dispatch(
                      data, [&](DataModule& d) { return trainer.validate(module, d); },
                      [&] { return trainer.validate(module); }));
  } else if (command == "test") {
    print_metrics(
        std::cout, command,
        dispatch(data, [&](DataModule& d) { return trainer.test(module, d); }, [&] { return trainer.test(module); }));
  } else {
    print_predictions(std::cout, dispatch(
                                     data, [&](DataModule& d) { return trainer.predict(module, d); },
                                     [&] { return trainer.predict(module); }));
  }
}

}  // namespace

bool is_run_command(const std::string& command) {
  return command == "fit" || command == "validate" || command == "test" || command == "predict";
}

int run_command(const std::string& command, const RunOptions& options) {
  if (!options.model)
    throw UsageError("model.class: missing; name the module with --model.class (`levin list models` shows them)");
  // As in PyTorch Lightning the seed also decides the module's initial weights.
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  TrainerOptions trainer_options = options.trainer;
  trainer_options.callbacks.push_back(std::make_shared<StopOnSignal>(command == "fit"));
  Trainer trainer(std::move(trainer_options));
  trainer.set_config(resolved_config(options).dump(2) + "\n");
  const SignalGuard guard;
  try {
    run(command, trainer, *module, data);
  } catch (const Interrupted& interrupted) {
    std::cerr << "levin: " << interrupted.what() << "\n";
  }
  return received_signal() ? 128 + received_signal() : 0;
}

}  // namespace levin::cli
