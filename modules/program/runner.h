#pragma once
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/plan.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace levin::program {

/// A stretch of a program whose activations backward computes again, since its results alone are kept.
struct Stretch {
  size_t begin = 0, end = 0;       ///< instructions
  std::vector<Slot> inputs = {};   ///< tensors made before it
  std::vector<Slot> results = {};  ///< tensors that later instructions use
  std::vector<Slot> held = {};     ///< parameters, buffers and numbers that it reads
  std::vector<Slot> dead = {};     ///< inputs and numbers that no later instruction uses
};

/// Runs a program: each operator by LibTorch's dispatcher, with autograd, autocast and profiling as in eager mode.
/// Several threads may run one program at once.
class Runner {
 public:
  /// `program` must outlive the runner.
  Runner(const ExportedProgram& program, std::string file, const std::vector<std::string>& namespaces);

  /// Lets nodes that depend on the mode follow the parts of a model: `part_of` returns the part with this path, or the
  /// model itself.
  template <class PartOf>
  void follow_modes(const PartOf& part_of) {
    for (Instruction& instruction : plan_.instructions)
      if (instruction.mode) instruction.mode->part = part_of(instruction.module);
  }
  /// Makes new tensors on `device`, and in `dtype` if the program makes them in the dtype of its parameters.
  void move(c10::Device device, at::ScalarType dtype);
  /// Recomputes these stretches in backward; they must not overlap.
  void set_recomputed(std::vector<Stretch> stretches) { stretches_ = std::move(stretches); }
  const Plan& plan() const { return plan_; }

  /// Runs all nodes. `values` has a tensor for each of the program's inputs. Returns the outputs, undefined for
  /// constants. An exception of LibTorch gets the node's name, module and line of Python.
  std::vector<at::Tensor> run(std::vector<c10::IValue> values) const;

 private:
  void execute(const Instruction& instruction, std::vector<c10::IValue>& values) const;
  void execute(size_t begin, size_t end, std::vector<c10::IValue>& values) const;
  void recompute(const Stretch& stretch, std::vector<c10::IValue>& values) const;

  const ExportedProgram& program_;
  std::string file_;
  c10::DeviceType exported_on_ = c10::DeviceType::CPU, device_ = c10::DeviceType::CPU;
  Plan plan_;
  std::vector<Instruction> originals_ = {};  ///< as exported, once the program was moved
  std::vector<Stretch> stretches_ = {};
};

}  // namespace levin::program
