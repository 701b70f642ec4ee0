#include <levin/modules/program/runner.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/program/autocast_scopes.h>
#include <torch/nn/module.h>

#include <stdexcept>
#include <utility>

namespace levin::program {
namespace {

using Values = std::vector<c10::IValue>;

void put(Values& values, Slot slot, c10::IValue value) {
  if (slot != kNoSlot) values[static_cast<size_t>(slot)] = std::move(value);
}

/// Puts what an operator left on the stack into its slots.
void store(const Instruction& instruction, Values& stack, Values& values) {
  if (stack.size() != instruction.results.size()) throw UsageError("its operator returned ", stack.size(), " values");
  for (size_t i = 0; i < stack.size(); ++i) {
    const std::vector<Slot>& slots = instruction.results[i];
    if (!instruction.is_list[i]) {
      put(values, slots.front(), std::move(stack[i]));
      continue;
    }
    const std::vector<at::Tensor> tensors = stack[i].toTensorVector();
    if (tensors.size() != slots.size())
      throw UsageError("its operator made ", tensors.size(), " tensors, the program was exported with ", slots.size());
    for (size_t j = 0; j < slots.size(); ++j) put(values, slots[j], tensors[j]);
  }
}

}  // namespace

Runner::Runner(const ExportedProgram& program, std::string file, const std::vector<std::string>& namespaces)
    : program_(program), file_(std::move(file)), plan_(make_plan(program, file_, namespaces)) {
  for (const Input& input : program.inputs)
    if (input.kind == InputKind::Parameter && program.tensors.contains(input.value))
      exported_on_ = program.tensors.at(input.value).device.type();
}

void Runner::move(c10::Device device, at::ScalarType dtype) {
  device_ = device.type();
  if (originals_.empty()) originals_ = plan_.instructions;
  for (size_t i = 0; i < originals_.size(); ++i) {
    const Instruction& original = originals_[i];
    std::vector<Operand>& operands = plan_.instructions[i].operands;
    if (original.device) {
      const c10::IValue& named = original.operands[*original.device].constant;
      operands[*original.device].constant = named.isDevice() || original.makes_tensor ? c10::IValue(device) : named;
    }
    if (!original.dtype) continue;
    // A narrower dtype leaves conversions as they are: a model computes a softmax in 32 bit because it wants to.
    const c10::IValue& named = original.operands[*original.dtype].constant;
    const bool follows = original.makes_tensor || (named.isInt() && dtype == at::kDouble);
    operands[*original.dtype].constant = follows ? c10::IValue(static_cast<int64_t>(dtype)) : named;
  }
}

void Runner::execute(const Instruction& instruction, Values& values) const {
  const InstructionMode* mode = instruction.mode && instruction.mode->part != nullptr ? &*instruction.mode : nullptr;
  const bool in_evaluation = mode != nullptr && !mode->part->is_training();
  if (in_evaluation && mode->only_in_training)
    return put(values, instruction.results.front().front(), instruction.operands.front().take(values));
  Values stack;
  stack.reserve(instruction.operands.size());
  for (const Operand& operand : instruction.operands) stack.push_back(operand.take(values));
  const bool is_replaced = in_evaluation && mode->op_in_evaluation;
  if (is_replaced) {
    stack.resize(2);
  } else if (mode != nullptr && !mode->only_in_training && !mode->op_in_evaluation) {
    stack[mode->operand] = in_evaluation ? mode->in_evaluation : mode->in_training;
  }
  if (instruction.function != nullptr) {
    put(values, instruction.results.front().front(), instruction.function(stack));
  } else {
    const at::AutoGradMode gradients(instruction.gradients.value_or(at::GradMode::is_enabled()) &&
                                     at::GradMode::is_enabled());
    if (instruction.check != nullptr) instruction.check(stack);
    (is_replaced ? *mode->op_in_evaluation : *instruction.op).callBoxed(stack);
    store(instruction, stack, values);
  }
  for (const Slot slot : instruction.dead) values[static_cast<size_t>(slot)] = {};
}

void Runner::execute(size_t begin, size_t end, Values& values) const {
  AutocastScopes autocast(exported_on_, device_);
  for (size_t i = begin; i < end; ++i) {
    const Instruction& instruction = plan_.instructions[i];
    const auto place = [&] { return file_ + ": " + described(program_.nodes[instruction.node]); };
    try {
      autocast.be_in(instruction.autocast);
      execute(instruction, values);
    } catch (c10::Error& error) {
      error.add_context(place());
      throw;
    } catch (const UsageError& error) {
      throw UsageError(place(), ": ", error.what());
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw UsageError(place(), ": ", error.what());
    }
  }
}

void Runner::recompute(const Stretch& stretch, Values& values) const {
  std::vector<at::Tensor> inputs;
  for (const Slot slot : stretch.inputs) inputs.push_back(values[static_cast<size_t>(slot)].toTensor());
  Values held(plan_.slots);
  for (const Slot slot : stretch.held) held[static_cast<size_t>(slot)] = values[static_cast<size_t>(slot)];
  const std::vector<at::Tensor> results = checkpoint(
      [this, &stretch, held](const std::vector<at::Tensor>& given) {
        Values own = held;
        for (size_t i = 0; i < given.size(); ++i) own[static_cast<size_t>(stretch.inputs[i])] = given[i];
        execute(stretch.begin, stretch.end, own);
        std::vector<at::Tensor> made;
        for (const Slot slot : stretch.results) made.push_back(own[static_cast<size_t>(slot)].toTensor());
        return made;
      },
      inputs);
  for (const Slot slot : stretch.dead) values[static_cast<size_t>(slot)] = {};
  for (size_t i = 0; i < results.size(); ++i) values[static_cast<size_t>(stretch.results[i])] = results[i];
}

std::vector<at::Tensor> Runner::run(Values values) const {
  values.resize(plan_.slots);
  size_t next = 0;
  for (const Stretch& stretch : stretches_) {
    execute(next, stretch.begin, values);
    recompute(stretch, values);
    next = stretch.end;
  }
  execute(next, plan_.instructions.size(), values);
  std::vector<at::Tensor> outputs;
  for (const Slot slot : plan_.outputs) {
    if (slot == kNoSlot) {
      outputs.emplace_back();
      continue;
    }
    const c10::IValue& value = values[static_cast<size_t>(slot)];
    if (!value.isTensor())
      throw UsageError(file_, ": an output of the program is a ", value.tagKind(), ", not a tensor");
    outputs.push_back(value.toTensor());
  }
  return outputs;
}

}  // namespace levin::program
