#include <levin/modules/program/written_buffers.h>

#include <map>
#include <variant>

namespace levin::program {
namespace {

using Buffers = std::set<std::string>;

/// Follows the memory of buffers through a program.
class Follower {
 public:
  explicit Follower(const ExportedProgram& program) {
    for (const Input& input : program.inputs)
      if (input.kind == InputKind::Buffer) memory_[input.value] = {input.target};
    for (const Output& output : program.outputs)
      if (output.kind == OutputKind::BufferMutation) written_.insert(output.buffer);
  }

  void follow(const Node& node, const Instruction& instruction) {
    if (!instruction.op) return;
    const bool counts = instruction.mode && instruction.mode->only_in_training;
    Buffers viewed;
    for (const c10::Argument& argument : instruction.op->schema().arguments()) {
      if (argument.alias_info() == nullptr) continue;
      const Buffers given = memory_of(node, argument.name());
      viewed.insert(given.begin(), given.end());
      if (argument.alias_info()->isWrite() && !counts) written_.insert(given.begin(), given.end());
    }
    if (viewed.empty()) return;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (instruction.op->schema().returns()[i].alias_info() != nullptr) add(node.outputs[i], viewed);
  }

  const Buffers& written() const { return written_; }

 private:
  Buffers memory_of(const Node& node, const std::string& argument) const {
    Buffers buffers;
    const auto take = [&](const std::string& name) {
      const auto found = memory_.find(name);
      if (found != memory_.end()) buffers.insert(found->second.begin(), found->second.end());
    };
    for (const Node::Input& input : node.inputs) {
      if (input.name != argument) continue;
      if (const auto* name = std::get_if<Name>(&input.value)) take(name->text);
      if (const auto* names = std::get_if<std::vector<Name>>(&input.value))
        for (const Name& name : *names) take(name.text);
    }
    return buffers;
  }

  void add(const Node::Output& output, const Buffers& buffers) {
    const auto put = [&](const Name& name) { memory_[name.text].insert(buffers.begin(), buffers.end()); };
    if (const auto* names = std::get_if<std::vector<Name>>(&output))
      for (const Name& name : *names) put(name);
    else if (const auto& name = std::get<std::optional<Name>>(output))
      put(*name);
  }

  std::map<std::string, Buffers> memory_ = {};  ///< of a value: the buffers in whose memory it lies
  Buffers written_ = {};
};

}  // namespace

std::set<std::string> written_buffers(const ExportedProgram& program, const Plan& plan) {
  Follower follower(program);
  for (const Instruction& instruction : plan.instructions)
    follower.follow(program.nodes[instruction.node], instruction);
  return follower.written();
}

}  // namespace levin::program
