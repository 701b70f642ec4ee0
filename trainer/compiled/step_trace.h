#pragma once
#include <levin/core/run/step_context.h>
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/compiled/operator_graph.h>
#include <levin/trainer/compiled/step_input.h>
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/precision/precision_plugin.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::compiled {

/// Returns the tensors of which a training step of `module` on `batch` is a function: parameters, each once, buffers,
/// then the batch. Throws levin::UsageError for a batch of the program's own type, and for one with lists.
std::vector<StepInput> inputs_of_step(const LightningModule& module, const Batch& batch);

/// One training step, as LibTorch's tracer saw it: a function of `inputs` that returns the loss, the weight if the step
/// returns one as a tensor, and the tensors that it logs.
struct StepTrace {
  std::vector<StepInput> inputs = {};
  OperatorGraph graph = {};
  bool has_weight = false;
  StepLog log = {};

  /// Returns the SHA-256 of all that decides what the step computes: operators, constants, and the inputs' names,
  /// kinds, dtypes, shapes and strides.
  std::string digest() const;
};

/// The parts of a run with which its module steps.
struct TracedParts {
  LightningModule& module;
  StepContext& context;  ///< the module's
  PrecisionPlugin& precision;
};

/// Calls training_step on `batch` and records its operators. Nothing is logged, and buffers are afterwards as before;
/// random numbers come from LibTorch's default generator and are restored.
///
/// Throws levin::UsageError for what a graph cannot hold: no loss, a weight that is a number, logged numbers and
/// metrics, autograd functions written in C++ and hooks on tensors (their backward is not recorded).
StepTrace trace_step(const TracedParts& parts, const Batch& batch, int64_t batch_idx);

}  // namespace levin::compiled
