#pragma once
#include <levin/data/batch.h>
#include <levin/trainer/loops/ranked_loader.h>
#include <levin/trainer/run/run_context.h>

#include <functional>

namespace levin {

/// Runs `step`, an evaluation or prediction without gradients, for the other ranks, which gather parameters in it, if
/// this rank has no batch. `absent`: the loader's absent batch; if it is empty, another one of `loader` stands in. It
/// counts for nothing.
void run_idle_evaluation(RunContext& run, RankedLoader& loader, Batch absent,
                         const std::function<void(const Batch& batch)>& step);

}  // namespace levin
