#pragma once

namespace levin::cli {

/// Runs the levin program: `levin fit --config run.json --max-epochs 5`. A user's main can be `return
/// levin::cli::main(argc, argv);`, with LEVIN_REGISTER_MODULE and LEVIN_REGISTER_DATA_MODULE at namespace scope.
///
/// Never throws. Returns 0 on success, 2 for a UsageError, 1 for any other exception, 143 after SIGTERM and 130 after
/// SIGINT, which end the run after its current optimizer step. An error is one message on stderr.
int main(int argc, char** argv);

}  // namespace levin::cli
