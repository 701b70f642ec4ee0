#pragma once
#include <levin/data/loader.h>
#include <levin/trainer/loops/run_context.h>

#include <vector>

namespace levin {

/// Prediction: every batch of every loader once, in eval mode and without gradients; returns what predict_step
/// returned, by loader and batch. Logging inside predict_step is refused.
std::vector<std::vector<Batch>> run_predict_loop(RunContext& run, const data::Loaders& loaders);

}  // namespace levin
