#pragma once
#include <ATen/core/ivalue.h>
#include <levin/modules/program/exported_program.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace levin::program {

/// How a node behaves in a part of the model that is in the other mode than at export: another value for one of its
/// arguments.
struct ModeSwitch {
  std::string argument;  ///< "train" of dropout, "training" of batch_norm
  c10::IValue in_training = {}, in_evaluation = {};
};

/// Says which nodes depend on the mode, as the layers of torch.nn do: dropout, batch and instance norm with running
/// statistics, rrelu, recurrent layers, attention with dropout, and stochastic depth.
class ModeSwitches {
 public:
  explicit ModeSwitches(const ExportedProgram& program);

  /// Returns how `node` depends on the mode; unset if it does not. In a program that was exported in train mode, a node
  /// that did not train then (a frozen batch norm) never does.
  std::optional<ModeSwitch> of(const Node& node) const;
  /// Returns whether the node counts the batches of a batch norm, which only happens in train mode.
  bool counts_batches(const Node& node) const;
  /// Returns whether the node draws the samples that stochastic depth keeps, which in evaluation are all.
  bool keeps_samples(const Node& node) const;
  /// Returns the names of the buffers in which the batch norms of a program that was exported in evaluation would count
  /// their batches: its nodes do not. A name is there once for each use; not all are buffers of the program.
  std::vector<std::string> uncounted() const;
  /// Returns whether the program was exported after model.eval(): it has such nodes, and none trains.
  bool exported_in_evaluation() const { return exported_in_evaluation_; }

 private:
  std::optional<ModeSwitch> switch_of(const Node& node) const;
  void find_uncounted(const ExportedProgram& program);

  bool exported_in_evaluation_ = false;
  std::map<std::string, std::string> buffers_ = {};  ///< names of buffers by value
  std::vector<std::string> uncounted_ = {};
};

}  // namespace levin::program
