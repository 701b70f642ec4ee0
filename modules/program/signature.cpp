#include <levin/modules/program/signature.h>
#include <levin/modules/program/input_structure.h>

#include <algorithm>
#include <utility>

namespace levin::program {

std::vector<std::string> input_names_of(const ExportedProgram& exported) {
  std::vector<const Input*> leaves;
  for (const Input& input : exported.inputs)
    if (input.kind == InputKind::UserTensor || input.kind == InputKind::UserConstant) leaves.push_back(&input);
  const std::vector<std::string> paths = input_paths(exported.in_spec, exported.argument_names);
  std::vector<std::string> names;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i]->kind == InputKind::UserTensor)
      names.push_back(paths.size() == leaves.size() ? paths[i] : leaves[i]->value);
  return names;
}

std::vector<std::string> output_names_of(const ExportedProgram& exported) {
  const auto count = static_cast<size_t>(std::ranges::count_if(
      exported.outputs, [](const Output& output) { return output.kind != OutputKind::BufferMutation; }));
  std::vector<std::string> names = output_paths(exported.out_spec);
  if (names.size() == count) return names;
  names.clear();
  for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

ImportedTensor described(const ExportedProgram& exported, const std::string& value) {
  const auto meta = exported.tensors.find(value);
  if (meta == exported.tensors.end()) return {};
  std::vector<int64_t> sizes;
  for (const Size& size : meta->second.sizes) {
    const int64_t* number = std::get_if<int64_t>(&size);
    sizes.push_back(number == nullptr ? -1 : *number);
  }
  return {.dtype = meta->second.dtype, .sizes = std::move(sizes)};
}

}  // namespace levin::program
