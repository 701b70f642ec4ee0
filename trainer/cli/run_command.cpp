#include <ATen/Context.h>
#include <levin/data/data_module.h>
#include <levin/trainer/cli/commands.h>
#include <levin/trainer/cli/dry_run.h>
#include <levin/trainer/cli/report.h>
#include <levin/trainer/cli/stop_on_signal.h>
#include <levin/trainer/core/signals.h>
#include <levin/trainer/trainer.h>

#include <iostream>

namespace levin::cli {
namespace {

/// Calls `with_data` where the config names data; `alone` where the module brings its own loaders.
template <class WithData, class Alone>
auto dispatch(const std::shared_ptr<data::DataModule>& data, WithData with_data, Alone alone) {
  return data ? with_data(*data) : alone();
}

void run(const std::string& command, Trainer& trainer, LightningModule& module,
         const std::shared_ptr<data::DataModule>& data, bool dry_run) {
  using data::DataModule;
  if (command == "fit") {
    const RunResult result =
        dispatch(data, [&](DataModule& d) { return trainer.fit(module, d); }, [&] { return trainer.fit(module); });
    if (!dry_run) print_result(std::cout, result);
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

void require_model(const RunOptions& options) {
  if (!options.model)
    throw UsageError("model.class: missing; name the module with --model.class (`levin list models` shows them)");
}

int run_command(const std::string& command, const RunOptions& options, bool dry_run) {
  require_model(options);
  // As in PyTorch Lightning the seed also decides the module's initial weights.
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  TrainerOptions trainer_options = dry_run ? dry_run_options(options.trainer) : options.trainer;
  const auto findings = std::make_shared<DryRunFindings>();
  if (dry_run) trainer_options.callbacks.push_back(std::make_shared<DryRun>(findings));
  trainer_options.callbacks.push_back(std::make_shared<StopOnSignal>(command == "fit"));
  Trainer trainer(std::move(trainer_options));
  trainer.set_config(config_text(options));
  const SignalGuard guard;
  try {
    run(command, trainer, *module, data, dry_run);
    if (dry_run) print_dry_run(std::cout, *findings, options.trainer);
  } catch (const Interrupted& interrupted) {
    std::cerr << "levin: " << interrupted.what() << "\n";
  }
  return received_signal() ? 128 + received_signal() : 0;
}

}  // namespace levin::cli
