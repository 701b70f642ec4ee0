#include <levin/modules/program/inline_graph.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <utility>

namespace levin::program {
namespace {

class Renaming {
 public:
  Renaming(std::map<std::string, std::string> names, std::string prefix)
      : names_(std::move(names)), prefix_(std::move(prefix)) {}

  std::string of(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? prefix_ + name : found->second;
  }
  void apply(Name& name) const { name.text = of(name.text); }
  void apply(std::optional<Name>& name) const {
    if (name) apply(*name);
  }
  void apply(NumberOrName& number) const {
    if (auto* name = std::get_if<Name>(&number)) apply(*name);
  }
  template <class T>
  void apply(std::vector<T>& list) const {
    for (T& item : list) apply(item);
  }
  void apply(Argument& argument) const {
    std::visit(
        [this](auto& value) {
          if constexpr (requires { apply(value); }) apply(value);
        },
        argument);
  }
  void apply(Node::Output& output) const {
    std::visit([this](auto& value) { apply(value); }, output);
  }

 private:
  std::map<std::string, std::string> names_;
  std::string prefix_;
};

/// A second name for a value.
Node alias_of(const std::string& value, const std::string& name) {
  return {.name = name,
          .target = "torch.ops.aten.alias.default",
          .inputs = {{.name = "self", .value = Name{value}}},
          .outputs = {std::optional<Name>(Name{name})},
          .modules = {},
          .source_line = {}};
}

}  // namespace

void append_inlined(ExportedProgram& program, Subgraph graph, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& results, const std::string& prefix) {
  if (graph.inputs.size() != arguments.size() || graph.outputs.size() != results.size())
    throw UsageError("its graph takes ", graph.inputs.size(), " values and makes ", graph.outputs.size(),
                     "; it is given ", arguments.size(), " for ", results.size());
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < arguments.size(); ++i) names.emplace(graph.inputs[i], arguments[i]);
  std::vector<size_t> aliases;  // outputs that are inputs, or are there twice
  for (size_t i = 0; i < results.size(); ++i)
    if (!names.emplace(graph.outputs[i], results[i]).second) aliases.push_back(i);
  const Renaming renaming(names, prefix);
  for (auto& [name, meta] : graph.tensors) program.tensors.emplace(renaming.of(name), std::move(meta));
  for (Node& node : graph.nodes) {
    for (Node::Input& input : node.inputs) renaming.apply(input.value);
    renaming.apply(node.outputs);
    program.nodes.push_back(std::move(node));
  }
  for (const size_t i : aliases) program.nodes.push_back(alias_of(renaming.of(graph.outputs[i]), results[i]));
}

}  // namespace levin::program
