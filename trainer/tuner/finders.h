#pragma once

namespace levin {

class Trainer;
struct RunInputs;

/// Returns whether a callback may search for the batch size or the learning rate of a fit: the fit resumes no
/// checkpoint, and fast_dev_run is off. Throws as find_checkpoint.
bool finder_may_search(const Trainer& trainer, const RunInputs& inputs);

/// Registers LearningRateFinder and BatchSizeFinder for configs; later calls do nothing.
void register_finders();

}  // namespace levin
