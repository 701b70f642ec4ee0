#pragma once

namespace levin {

class Trainer;
struct RunInputs;

/// Returns whether a fit begins anew, so that a callback may look for its batch size or rate: it has no checkpoint and
/// is no test of a few batches. Throws as find_checkpoint.
bool finds_anew(const Trainer& trainer, const RunInputs& inputs);

/// Registers LearningRateFinder and BatchSizeFinder for configs; later calls do nothing.
void register_finders();

}  // namespace levin
