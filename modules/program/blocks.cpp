#include <levin/modules/program/blocks.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace levin::program {
namespace {

constexpr size_t kFewest = 4;  ///< instructions that a part must have for recomputing to save memory

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}
std::string name_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }
size_t depth_of(const std::string& path) { return static_cast<size_t>(std::ranges::count(path, '.')); }

/// The instructions from the first to the last of a part; unset if some between them belong to other parts.
std::optional<Stretch> stretch_of(const std::string& path, const ExportedProgram& program, const Plan& plan) {
  const auto belongs = [&](const Node& node) {
    return std::ranges::any_of(node.modules, [&](const auto& module) { return module.first == path; });
  };
  std::optional<Stretch> stretch;
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    if (!belongs(program.nodes[plan.instructions[i].node])) continue;
    if (!stretch) stretch = Stretch{i, i + 1};
    stretch->end = i + 1;
  }
  if (!stretch || stretch->end - stretch->begin < kFewest) return std::nullopt;
  for (size_t i = stretch->begin; i < stretch->end; ++i) {
    const Node& node = program.nodes[plan.instructions[i].node];
    if (!belongs(node) && !node.modules.empty()) return std::nullopt;
  }
  return stretch;
}

/// Reads what an instruction reads: a copy is asked, since asking marks.
std::vector<Slot> slots_of(const Operand& operand) {
  std::vector<Slot> slots;
  Operand copy = operand;
  copy.for_each_slot_from_the_end([&](Slot slot, bool& /*is_last_use*/) { slots.push_back(slot); });
  return slots;
}

bool writes(const Instruction& instruction, size_t operand) {
  if (!instruction.op) return false;
  const c10::AliasInfo* alias = instruction.op->schema().arguments()[operand].alias_info();
  return alias != nullptr && alias->isWrite();
}

/// Fills in what goes in and out; false if the part writes to values from outside, or a number leaves it.
bool connect(Stretch& stretch, const ExportedProgram& program, const Plan& plan, const std::set<Slot>& tensors) {
  std::set<Slot> made, read, read_later(plan.outputs.begin(), plan.outputs.end());
  for (size_t i = stretch.begin; i < stretch.end; ++i) {
    const Instruction& instruction = plan.instructions[i];
    const bool changes_statistics =
        instruction.mode && (instruction.mode->only_in_training ||
                             program.nodes[instruction.node].target.find("_norm.") != std::string::npos);
    if (changes_statistics) return false;
    for (size_t j = 0; j < instruction.operands.size(); ++j)
      for (const Slot slot : slots_of(instruction.operands[j])) {
        if (!made.contains(slot)) read.insert(slot);
        if (!made.contains(slot) && writes(instruction, j)) return false;
      }
    for (const std::vector<Slot>& result : instruction.results)
      for (const Slot slot : result) made.insert(slot);
  }
  for (size_t i = stretch.end; i < plan.instructions.size(); ++i)
    for (const Operand& operand : plan.instructions[i].operands)
      for (const Slot slot : slots_of(operand)) read_later.insert(slot);
  const auto is_input = [&](Slot slot) { return static_cast<size_t>(slot) < program.inputs.size(); };
  for (const Slot slot : read) {
    const bool is_users = is_input(slot) && program.inputs[static_cast<size_t>(slot)].kind == InputKind::UserTensor;
    const bool is_tensor = is_users || (!is_input(slot) && tensors.contains(slot));
    (is_tensor ? stretch.inputs : stretch.held).push_back(slot);
    if (!is_input(slot) && !read_later.contains(slot)) stretch.dead.push_back(slot);
  }
  for (const Slot slot : made) {
    if (slot == kNoSlot || !read_later.contains(slot)) continue;
    if (!tensors.contains(slot)) return false;
    stretch.results.push_back(slot);
  }
  return !stretch.results.empty();
}

/// The paths to try: all numbered parts of the outermost list, or the direct children.
std::vector<std::string> candidates_of(const ExportedProgram& program) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const std::string& path : program.modules)
    if (is_number(name_of(path))) lists[parent_of(path)].push_back(path);
  std::vector<std::string> found;
  std::optional<size_t> outermost;
  for (const auto& [list, parts] : lists)
    if (parts.size() > 1) outermost = std::min(outermost.value_or(depth_of(list)), depth_of(list));
  for (const auto& [list, parts] : lists)
    if (parts.size() > 1 && depth_of(list) == *outermost) found.insert(found.end(), parts.begin(), parts.end());
  if (!found.empty()) return found;
  for (const std::string& path : program.modules)
    if (path.find('.') == std::string::npos) found.push_back(path);
  return found;
}

}  // namespace

std::map<std::string, Stretch> find_blocks(const ExportedProgram& program, const Plan& plan) {
  std::set<Slot> tensors;
  for (const Instruction& instruction : plan.instructions) {
    if (!instruction.op) continue;
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      const bool makes_tensors =
          instruction.is_list[i] || instruction.op->schema().returns()[i].type()->kind() == c10::TypeKind::TensorType;
      if (makes_tensors) tensors.insert(instruction.results[i].begin(), instruction.results[i].end());
    }
  }
  constexpr size_t kMostBlocks = 1000;  // each is looked for in the whole program
  std::map<std::string, Stretch> blocks;
  const std::vector<std::string> candidates = candidates_of(program);
  if (candidates.size() > kMostBlocks) return blocks;
  for (const std::string& path : candidates) {
    std::optional<Stretch> stretch = stretch_of(path, program, plan);
    if (stretch && connect(*stretch, program, plan, tensors)) blocks.emplace(path, std::move(*stretch));
  }
  return blocks;
}

}  // namespace levin::program
