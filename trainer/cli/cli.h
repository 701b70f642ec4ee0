#pragma once

namespace levin::cli {

/// The levin program: `levin fit --config run.json --max-epochs 5`. A user's own main may be just
/// `return levin::cli::main(argc, argv);` after LEVIN_REGISTER_MODULE and LEVIN_REGISTER_DATA_MODULE.
///
/// Never throws. Returns 0; 2 for what levin finds wrong in the set-up (UsageError); 1 for any other exception; 143
/// after SIGTERM and 130 after SIGINT, which end the run at its next optimizer step. Errors are one message on stderr.
int main(int argc, char** argv);

}  // namespace levin::cli
