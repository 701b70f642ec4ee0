#pragma once
#include <levin/trainer/options/trainer_options.h>

#include <optional>

namespace levin {

/// Starts the ranks that `options` ask for (ddp, zero1) if no launcher has started them: one process per device, each
/// with the command line of this process. Waits until all have ended, and returns the exit code for this process. In a
/// rank, and if one process is enough, returns nullopt at once; the program then makes its Trainer.
///
///     int main() {
///       const levin::TrainerOptions options = {.strategy = "ddp", .devices = 4};
///       if (const auto code = levin::launch(options)) return *code;
///       ...                                     // only the ranks come here
///       levin::Trainer trainer(options);
///
/// Call it at the beginning of `main`, since each rank runs `main` from there. Trainer's constructor starts no process:
/// it throws if ranks are missing. Throws levin::UsageError for wrong options, for missing devices, if `launcher` is
/// "none", and if there are several machines and the environment does not tell which one this is.
std::optional<int> launch(const TrainerOptions& options);

}  // namespace levin
