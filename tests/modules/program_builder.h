#pragma once
#include <nlohmann/json.hpp>
#include <string>

/// Builds programs of torch.export without Python.
namespace program_builder {

using ProgramJson = nlohmann::json;

inline ProgramJson named(const std::string& name) { return {{"name", name}}; }
inline ProgramJson tensor(const std::string& name) { return {{"as_tensor", named(name)}}; }
inline ProgramJson argument(const std::string& name, const ProgramJson& value) {
  return {{"name", name}, {"arg", value}};
}

/// A list in braces that has one item is the item itself.
inline ProgramJson list(const ProgramJson& items) { return items.is_object() ? ProgramJson::array({items}) : items; }

/// Returns a call of an operator of ATen that makes the tensor `name`.
inline ProgramJson node(const std::string& target, const ProgramJson& inputs, const std::string& name) {
  return {{"target", "torch.ops.aten." + target},
          {"inputs", list(inputs)},
          {"outputs", {tensor(name)}},
          {"metadata", ProgramJson::object()},
          {"name", name}};
}

/// Returns what a program says of a float32 tensor of fixed sizes.
inline ProgramJson meta(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, bool trains) {
  const auto fixed = [](const std::vector<int64_t>& numbers) {
    ProgramJson list = ProgramJson::array();
    for (const int64_t number : numbers) list.push_back({{"as_int", number}});
    return list;
  };
  return {{"dtype", 7},
          {"sizes", fixed(sizes)},
          {"strides", fixed(strides)},
          {"storage_offset", {{"as_int", 0}}},
          {"requires_grad", trains},
          {"device", {{"type", "cpu"}, {"index", nullptr}}},
          {"layout", 7}};
}

/// Returns a program of x [2, 3] and the parameter w [3, 3], whose output is the value `output`.
inline ProgramJson program_of(const ProgramJson& nodes, const std::string& output) {
  const ProgramJson graph = {
      {"nodes", list(nodes)},
      {"tensor_values", {{"w", meta({3, 3}, {3, 1}, true)}, {"x", meta({2, 3}, {3, 1}, false)}}}};
  const ProgramJson signature = {
      {"input_specs",
       {{{"parameter", {{"arg", named("w")}, {"parameter_name", "w"}}}}, {{"user_input", {{"arg", tensor("x")}}}}}},
      {"output_specs", {{{"user_output", {{"arg", tensor(output)}}}}}}};
  return {{"graph_module", {{"graph", graph}, {"signature", signature}, {"module_call_graph", ProgramJson::array()}}},
          {"range_constraints", {{"s0", {{"min_val", 2}, {"max_val", nullptr}}}}},
          {"schema_version", {{"major", 8}, {"minor", 20}}},
          {"verifiers", {"TRAINING"}}};
}

}  // namespace program_builder
