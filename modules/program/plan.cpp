#include <levin/modules/program/plan.h>
#include <levin/core/system/error.h>
#include <levin/modules/program/mode_switch.h>
#include <levin/modules/program/operators.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace levin::program {
namespace {

bool takes_tensor(const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) return takes_tensor(optional->getElementType());
  if (const auto list = type->cast<c10::ListType>()) return takes_tensor(list->getElementType());
  return type->kind() == c10::TypeKind::TensorType;
}

class Planner {
 public:
  Planner(const ExportedProgram& program, const std::vector<std::string>& namespaces)
      : program_(program), namespaces_(namespaces), modes_(program) {
    for (const Input& input : program.inputs) {
      const Slot slot = new_slot();
      if (!input.value.empty()) define(input.value, slot);
    }
    for (const Input& input : program.inputs)
      if (input.kind == InputKind::Parameter && program.tensors.contains(input.value))
        dtypes_.insert(program.tensors.at(input.value).dtype);
  }

  void add(size_t index) {
    const Node& node = program_.nodes[index];
    // What export knew of a tensor's device and dtype, which follow the module here.
    if (node.target == "torch.ops.aten._assert_tensor_metadata.default") return;
    Instruction instruction;
    instruction.node = index;
    instruction.gradients = node.gradients;
    instruction.autocast = node.autocast;
    if (!node.modules.empty()) instruction.module = node.modules.back().first;
    instruction.function = find_number_function(node.target);
    if (instruction.function != nullptr) {
      for (const Node::Input& input : node.inputs) instruction.operands.emplace_back(input.value, finder());
    } else {
      instruction.op = find_operator(node.target, namespaces_);
      instruction.check = find_argument_check(*instruction.op);
      add_operands(node, instruction);
      add_mode(node, instruction);
      mark_device_and_dtype(node, instruction);
    }
    add_results(node, instruction);
    plan_.instructions.push_back(std::move(instruction));
  }

  Plan finish() {
    for (const Output& output : program_.outputs)
      plan_.outputs.push_back(output.value.empty() ? kNoSlot : finder()(Name{output.value}));
    mark_last_uses();
    return std::move(plan_);
  }

 private:
  Slot new_slot() { return static_cast<Slot>(plan_.slots++); }
  void define(const std::string& name, Slot slot) {
    if (!slots_.emplace(name, slot).second) throw UsageError("the value '", name, "' is made twice");
  }
  FindSlot finder() const {
    return [this](const Name& name) {
      const auto found = slots_.find(name.text);
      if (found == slots_.end()) throw UsageError("the value '", name.text, "' is used before it is made");
      return found->second;
    };
  }

  static Operand operand_of(const c10::Argument& wanted, const Argument& given, const FindSlot& find) try {
    return Operand(wanted, given, find);
  } catch (const UsageError& error) {
    throw UsageError("argument '", wanted.name(), "': ", error.what());
  }

  void add_operands(const Node& node, Instruction& instruction) const {
    const std::vector<c10::Argument>& wanted = instruction.op->schema().arguments();
    std::map<std::string, const Argument*> given;
    for (const Node::Input& input : node.inputs)
      if (!given.emplace(input.name, &input.value).second)
        throw UsageError("the argument '", input.name, "' is given twice");
    for (const c10::Argument& argument : wanted) {
      const auto found = given.find(argument.name());
      if (found != given.end()) {
        instruction.operands.push_back(operand_of(argument, *found->second, finder()));
        given.erase(found);
      } else if (argument.default_value()) {
        instruction.operands.emplace_back(*argument.default_value());
      } else {
        throw UsageError("the argument '", argument.name(), "' is missing");
      }
    }
    if (!given.empty()) throw UsageError("the operator has no argument '", given.begin()->first, "'");
  }

  std::optional<size_t> operand_named(const Instruction& instruction, std::string_view name) const {
    const std::vector<c10::Argument>& wanted = instruction.op->schema().arguments();
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i].name() == name) return i;
    return std::nullopt;
  }

  void add_mode(const Node& node, Instruction& instruction) const {
    if (modes_.counts_batches(node)) {
      instruction.mode = InstructionMode{};
      instruction.mode->only_in_training = true;
    } else if (modes_.keeps_samples(node)) {
      instruction.mode = InstructionMode{};
      instruction.mode->op_in_evaluation = find_operator("torch.ops.aten.fill_.Scalar", {});
    } else if (const std::optional<ModeSwitch> found = modes_.of(node)) {
      const std::optional<size_t> operand = operand_named(instruction, found->argument);
      if (operand && instruction.operands[*operand].is_constant())
        instruction.mode = InstructionMode{*operand, found->in_training, found->in_evaluation};
    }
  }

  /// A device in a program is the one that it was exported on, and the dtype of a new tensor that of the parameters.
  /// Both follow the module.
  void mark_device_and_dtype(const Node& node, Instruction& instruction) const {
    const std::vector<c10::Argument>& wanted = instruction.op->schema().arguments();
    instruction.makes_tensor =
        std::ranges::none_of(wanted, [](const c10::Argument& argument) { return takes_tensor(argument.type()); });
    instruction.device = operand_named(instruction, "device");
    if (instruction.device && !instruction.operands[*instruction.device].is_constant()) instruction.device.reset();
    const auto* made = node.outputs.size() == 1 ? std::get_if<std::optional<Name>>(&node.outputs.front()) : nullptr;
    if (made == nullptr || !*made || !program_.tensors.contains((*made)->text)) return;
    const at::ScalarType dtype = program_.tensors.at((*made)->text).dtype;
    if (!c10::isFloatingType(dtype) || dtypes_ != std::set{dtype}) return;
    instruction.dtype = operand_named(instruction, "dtype");
    if (instruction.dtype && !instruction.operands[*instruction.dtype].is_constant()) instruction.dtype.reset();
  }

  void add_results(const Node& node, Instruction& instruction) {
    const size_t returned = instruction.op ? instruction.op->schema().returns().size() : 1;
    if (node.outputs.size() != returned)
      throw UsageError("has ", node.outputs.size(), " outputs, its operator returns ", returned);
    for (size_t i = 0; i < returned; ++i) {
      const auto* list = std::get_if<std::vector<Name>>(&node.outputs[i]);
      const bool returns_list =
          instruction.op && instruction.op->schema().returns()[i].type()->kind() == c10::TypeKind::ListType;
      if ((list != nullptr) != returns_list) throw UsageError("output ", i, " is a list, or its operator returns one");
      std::vector<Slot> slots;
      const auto make = [&](const Name& name) {
        define(name.text, new_slot());
        slots.push_back(static_cast<Slot>(plan_.slots - 1));
      };
      if (list != nullptr)
        std::ranges::for_each(*list, make);
      else if (const auto& name = std::get<std::optional<Name>>(node.outputs[i]))
        make(*name);
      else
        slots.push_back(kNoSlot);
      instruction.results.push_back(std::move(slots));
      instruction.is_list.push_back(returns_list);
    }
  }

  /// From the end: the first time that a slot is met is its last use.
  void mark_last_uses() {
    std::vector<bool> used(plan_.slots, false);
    for (const Slot slot : plan_.outputs)
      if (slot != kNoSlot) used[static_cast<size_t>(slot)] = true;
    for (size_t i = 0; i < program_.inputs.size(); ++i) used[i] = true;  // the caller owns them
    for (auto instruction = plan_.instructions.rbegin(); instruction != plan_.instructions.rend(); ++instruction) {
      for (const std::vector<Slot>& result : instruction->results)
        for (const Slot slot : result)
          if (slot != kNoSlot && !used[static_cast<size_t>(slot)]) instruction->dead.push_back(slot);
      for (auto operand = instruction->operands.rbegin(); operand != instruction->operands.rend(); ++operand)
        operand->for_each_slot_from_the_end([&](Slot slot, bool& is_last_use) {
          is_last_use = !used[static_cast<size_t>(slot)];
          used[static_cast<size_t>(slot)] = true;
        });
    }
  }

  const ExportedProgram& program_;
  const std::vector<std::string>& namespaces_;
  ModeSwitches modes_;
  std::map<std::string, Slot> slots_ = {};
  std::set<at::ScalarType> dtypes_ = {};  ///< of the parameters
  Plan plan_ = {};
};

}  // namespace

Plan make_plan(const ExportedProgram& program, const std::string& file, const std::vector<std::string>& namespaces) {
  Planner planner(program, namespaces);
  for (size_t i = 0; i < program.nodes.size(); ++i) try {
      planner.add(i);
    } catch (const UsageError& error) {
      throw UsageError(file, ": ", described(program.nodes[i]), ": ", error.what());
    }
  try {
    return planner.finish();
  } catch (const UsageError& error) {
    throw UsageError(file, ": its outputs: ", error.what());
  }
}

std::string described(const Node& node) {
  std::string text = "node '" + node.name + "' (" + node.target;
  if (!node.modules.empty() && !node.modules.back().first.empty()) text += ", module " + node.modules.back().first;
  if (!node.source_line.empty()) text += ", " + node.source_line;
  return text + ")";
}

}  // namespace levin::program
