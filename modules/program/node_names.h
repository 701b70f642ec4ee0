#pragma once
#include <levin/modules/program/exported_program.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace levin::program {

/// "torch.ops.aten.add_.Tensor": "add_". Empty for what is no operator of ATen.
inline std::string_view aten_name(std::string_view target) {
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (!target.starts_with(kAten)) return {};
  target.remove_prefix(kAten.size());
  return target.substr(0, target.find('.'));
}

/// Returns the argument of this name, or nullptr.
inline const Argument* find_argument(const Node& node, std::string_view name) {
  for (const Node::Input& input : node.inputs)
    if (input.name == name) return &input.value;
  return nullptr;
}

/// Returns the part of a module that has a parameter, a buffer or another part: "net.0" of "net.0.weight".
inline std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// Calls `visit` with the text of each value's name that an argument or an output of a node holds.
template <class Visit>
void for_each_name(const Name& name, const Visit& visit) {
  visit(name.text);
}
template <class Visit>
void for_each_name(const std::optional<Name>& name, const Visit& visit) {
  if (name) visit(name->text);
}
template <class Visit>
void for_each_name(const NumberOrName& number, const Visit& visit) {
  if (const auto* name = std::get_if<Name>(&number)) visit(name->text);
}
template <class T, class Visit>
void for_each_name(const std::vector<T>& list, const Visit& visit) {
  for (const T& item : list) for_each_name(item, visit);
}
template <class Visit>
void for_each_name(const Argument& argument, const Visit& visit) {
  if (const auto* name = std::get_if<Name>(&argument)) for_each_name(*name, visit);
  if (const auto* tensors = std::get_if<std::vector<Name>>(&argument)) for_each_name(*tensors, visit);
  if (const auto* optional = std::get_if<std::vector<std::optional<Name>>>(&argument)) for_each_name(*optional, visit);
  if (const auto* numbers = std::get_if<std::vector<NumberOrName>>(&argument)) for_each_name(*numbers, visit);
}
template <class Visit>
void for_each_name(const Node::Output& output, const Visit& visit) {
  std::visit([&](const auto& value) { for_each_name(value, visit); }, output);
}

}  // namespace levin::program
