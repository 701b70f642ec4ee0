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
/// A program that calls it first in `main` leaves `main` in the ordinary way. Without it, Trainer's constructor does
/// the same work and ends the starting process by std::exit. Throws levin::UsageError in the cases in which that
/// constructor does.
std::optional<int> launch(const TrainerOptions& options);

}  // namespace levin
