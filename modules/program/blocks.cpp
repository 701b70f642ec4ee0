#include <levin/modules/program/blocks.h>
#include <ATen/core/function_schema.h>
#include <levin/modules/program/node_names.h>

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

std::string name_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }
size_t depth_of(const std::string& path) { return static_cast<size_t>(std::ranges::count(path, '.')); }

/// The instructions from the first to the last of each part, without parts that others interrupt, in order.
std::vector<std::pair<std::string, Stretch>> stretches_of(const std::vector<std::string>& paths,
                                                          const ExportedProgram& program, const Plan& plan) {
  struct Found {
    Stretch stretch;
    size_t own = 0;
  };
  std::map<std::string, Found> parts;
  for (const std::string& path : paths) parts[path];
  std::vector<size_t> of_no_part = {0};  // before each instruction
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    const Node& node = program.nodes[plan.instructions[i].node];
    of_no_part.push_back(of_no_part.back() + node.modules.empty());
    for (const auto& [path, type] : node.modules) {
      const auto part = parts.find(path);
      if (part == parts.end() || part->second.stretch.end == i + 1) continue;  // a node names a part twice
      if (part->second.own++ == 0) part->second.stretch.begin = i;
      part->second.stretch.end = i + 1;
    }
  }
  std::vector<std::pair<std::string, Stretch>> stretches;
  for (auto& [path, found] : parts) {
    const size_t begin = found.stretch.begin, end = found.stretch.end;
    const bool is_whole = found.own + of_no_part[end] - of_no_part[begin] == end - begin;
    if (is_whole && end - begin >= kFewest) stretches.emplace_back(path, std::move(found.stretch));
  }
  std::ranges::stable_sort(stretches, {}, [](const auto& part) { return part.second.begin; });
  return stretches;
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

/// The last instruction that reads each slot; beyond all of them for the program's outputs.
std::vector<size_t> last_reads_of(const Plan& plan) {
  std::vector<size_t> last(plan.slots, 0);
  for (size_t i = 0; i < plan.instructions.size(); ++i)
    for (const Operand& operand : plan.instructions[i].operands)
      for (const Slot slot : slots_of(operand)) last[static_cast<size_t>(slot)] = i;
  for (const Slot slot : plan.outputs)
    if (slot != kNoSlot) last[static_cast<size_t>(slot)] = plan.instructions.size();
  return last;
}

/// Fills in what goes in and out; false if the part writes to values from outside, or a number leaves it.
bool connect(Stretch& stretch, const ExportedProgram& program, const Plan& plan, const std::set<Slot>& tensors,
             const std::vector<size_t>& last_reads) {
  std::set<Slot> made, read;
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
  const auto is_read_later = [&](Slot slot) { return last_reads[static_cast<size_t>(slot)] >= stretch.end; };
  const auto is_input = [&](Slot slot) { return static_cast<size_t>(slot) < program.inputs.size(); };
  for (const Slot slot : read) {
    const bool is_users = is_input(slot) && program.inputs[static_cast<size_t>(slot)].kind == InputKind::UserTensor;
    const bool is_tensor = is_users || (!is_input(slot) && tensors.contains(slot));
    (is_tensor ? stretch.inputs : stretch.held).push_back(slot);
    if (!is_input(slot) && !is_read_later(slot)) stretch.dead.push_back(slot);
  }
  for (const Slot slot : made) {
    if (slot == kNoSlot || !is_read_later(slot)) continue;
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
  const std::vector<size_t> last_reads = last_reads_of(plan);
  std::map<std::string, Stretch> blocks;
  size_t end = 0;  // of the block before: blocks may not overlap
  for (auto& [path, stretch] : stretches_of(candidates_of(program), program, plan)) {
    if (stretch.begin < end) continue;
    end = stretch.end;
    if (connect(stretch, program, plan, tensors, last_reads)) blocks.emplace(path, std::move(stretch));
  }
  return blocks;
}

}  // namespace levin::program
