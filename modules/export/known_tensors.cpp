#include <levin/modules/export/known_tensors.h>
#include <levin/modules/program/node_names.h>

#include <utility>

namespace levin::program {

KnownTensors::KnownTensors(ExportedProgram& program, ProgramTensors& tensors) {
  std::map<std::string, at::Tensor*> by_name;
  for (auto* named : {&tensors.weights, &tensors.constants})
    for (auto& [name, tensor] : *named) by_name[name] = &tensor;
  for (const Input& input : program.inputs)
    if (const auto found = by_name.find(input.target); found != by_name.end() && input.kind != InputKind::UserTensor)
      tensors_[input.value] = found->second;
  for (Node& node : program.nodes) {
    for (const Node::Output& output : node.outputs)
      for_each_name(output, [&](const std::string& name) { makers_[name] = &node; });
    for (const Node::Input& input : node.inputs)
      for_each_name(input.value, [&](const std::string& name) { readers_[name].push_back(&node); });
  }
  for (const Output& output : program.outputs) readers_[output.value].push_back(nullptr);
}

at::Tensor KnownTensors::find(const std::string& value) const {
  const auto found = tensors_.find(value);
  return found == tensors_.end() ? at::Tensor() : found->second->detach().cpu();
}

Node* KnownTensors::maker(const std::string& value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : found->second;
}

size_t KnownTensors::reads(const std::string& value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() ? 0 : found->second.size();
}

const Node* KnownTensors::only_reader(const std::string& value) const {
  return reads(value) == 1 ? readers_.at(value).front() : nullptr;
}

std::string value_of(const Node& node, const std::string& argument) {
  const Argument* const found = find_argument(node, argument);
  const auto* const name = found == nullptr ? nullptr : std::get_if<Name>(found);
  return name == nullptr ? std::string() : name->text;
}

}  // namespace levin::program
