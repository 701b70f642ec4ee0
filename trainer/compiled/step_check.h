#pragma once
#include <levin/trainer/compiled/compiled_code.h>
#include <levin/trainer/compiled/step_description.h>
#include <levin/trainer/compiled/step_optimizer.h>
#include <levin/trainer/compiled/step_trace.h>

namespace levin::compiled {

/// How far a compiled step is from the eager one.
struct StepDifference {
  double loss = 0;      ///< relative to the eager loss, or absolute where that is below 1
  double gradient = 0;  ///< the largest of any gradient, relative to the largest gradient of the step
};

/// Runs both on one batch. Parameters, buffers and gradients are afterwards as before. The step must draw no random
/// numbers.
///
/// `optimizer`: of a package that makes its steps, else null. Then the second step from here is compared, whose state
/// the optimizer has: `gradient` is the largest difference of a parameter's change, relative to the largest change.
/// Elements with gradients near zero are left out, whose sign rounding decides. The optimizer's state is dropped.
StepDifference compare_with_eager(const TracedParts& parts, const Batch& batch, const StepDescription& description,
                                  CompiledCode& code, StepOptimizer* optimizer);

/// Returns what Python needs to compare a step that draws random numbers: its inputs, the state of the generator before
/// the step, the eager loss, and the eager gradient of each parameter (zeros if it has none). Empty for a step that
/// draws none. Parameters, buffers and random numbers are afterwards as before.
std::vector<at::Tensor> example_of_draws(const TracedParts& parts, const Batch& batch);

}  // namespace levin::compiled
