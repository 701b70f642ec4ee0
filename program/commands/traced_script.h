#pragma once
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <string>

namespace levin::cli {

/// A module's predict_step as TorchScript.
struct TracedScript {
  torch::jit::Module script;
  /// Why it serves for batches of the example's size alone; empty if it serves for others too.
  std::string why_fixed = {};
};

/// Records what predict_step computes of `prepare(example)`, in eval mode. The script has the module's parameters and
/// buffers by their names, and a forward that takes those entries of `example` that are read, in their order. It is
/// compared with predict_step, also for a batch of another size.
///
/// Throws levin::UsageError if predict_step returns something other than one tensor, reads values of tensors, or
/// computes something else in the script.
TracedScript trace_predict_step(LightningModule& module, const Batch& example,
                                const std::function<Batch(const Batch&)>& prepare);

}  // namespace levin::cli
