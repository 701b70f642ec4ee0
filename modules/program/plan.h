#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <levin/modules/program/argument_check.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/number_function.h>
#include <levin/modules/program/operand.h>

#include <optional>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin::program {

/// Another value for one operand, and what is done otherwise, in a part of the model that is in the other mode.
struct InstructionMode {
  size_t operand = 0;
  c10::IValue in_training = {}, in_evaluation = {};
  bool only_in_training = false;  ///< in evaluation its result is its first operand, as it is
  /// Runs in evaluation in place of `op`, with its first two operands.
  std::optional<c10::OperatorHandle> op_in_evaluation = {};
  const torch::nn::Module* part = nullptr;  ///< whose mode counts
};

/// One node of a program, ready to run: the operator is found, its arguments are in the operator's order.
struct Instruction {
  size_t node = 0;                             ///< index in the program
  std::optional<c10::OperatorHandle> op = {};  ///< unset: `function`
  NumberFunction function = nullptr;
  ArgumentCheck check = nullptr;  ///< of what `op` does not check itself
  std::vector<Operand> operands = {};
  std::vector<std::vector<Slot>> results = {};  ///< of each result: one slot, or one for each tensor of a list
  std::vector<bool> is_list = {};               ///< of each result
  std::vector<Slot> dead = {};                  ///< results that nobody uses
  std::optional<InstructionMode> mode = {};
  std::string module = {};             ///< path of the innermost part of the model; "" of the model itself
  std::optional<size_t> device = {};   ///< the operand that names a device
  std::optional<size_t> dtype = {};    ///< the operand of a new tensor that names the model's dtype
  AutocastRegions autocast = {};       ///< of the node
  std::optional<bool> gradients = {};  ///< whether gradients are recorded; unset: as around the program
  bool makes_tensor = false;           ///< no operand is a tensor: the operator makes one from numbers
};

/// What a program does, in order.
struct Plan {
  std::vector<Instruction> instructions;
  size_t slots = 0;           ///< the first are the program's inputs
  std::vector<Slot> outputs;  ///< of the program's outputs; kNoSlot for constants
};

/// Plans a program. `namespaces` names operators besides ATen's that it may call. Throws levin::UsageError, with the
/// node, if an operator is unknown or not permitted, an argument does not fit it, or a value is used before it is made.
Plan make_plan(const ExportedProgram& program, const std::string& file, const std::vector<std::string>& namespaces);

/// "node linear_1 (torch.ops.aten.linear.default, module fc, x = self.fc(x))", for messages.
std::string described(const Node& node);

}  // namespace levin::program
