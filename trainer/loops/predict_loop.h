#pragma once
#include <levin/data/loader.h>
#include <levin/trainer/run/run_context.h>

#include <vector>

namespace levin {

/// Runs every batch of every loader once, in eval mode and without gradients. Returns the results of predict_step, by
/// loader and batch. Values that predict_step logs are never read.
std::vector<std::vector<Batch>> run_predict_loop(RunContext& run, const data::Loaders& loaders);

}  // namespace levin
