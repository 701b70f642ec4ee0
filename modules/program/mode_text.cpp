#include <levin/modules/program/mode_text.h>
#include <levin/modules/program/inline_graph.h>
#include <levin/modules/program/mode_switch.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace levin::program {
namespace {

using Json = nlohmann::json;

Json argument_of(const c10::IValue& value) {
  if (value.isBool()) return {{"as_bool", value.toBool()}};
  return {{"as_float", value.toDouble()}};
}

/// Says how a node takes its last input, where the file's schema has a place for it.
void set_kind(Json& inputs, int kind) {
  if (inputs.front().contains("kind")) inputs.back()["kind"] = kind;
}

/// All samples are kept: bernoulli_(p) becomes fill_(p), which the division by p behind it makes 1.
void fill_in_place_of_drawing(Json& node) {
  node["target"] = "torch.ops.aten.fill_.Scalar";
  Json inputs = Json::array();
  for (Json& input : node["inputs"])
    if (inputs.size() < 2) inputs.push_back(input);
  inputs.back()["name"] = "value";
  set_kind(inputs, 1);
  node["inputs"] = std::move(inputs);
}

/// Walks through the nodes of the text in the order in which the program has them.
class Writer {
 public:
  Writer(const ExportedProgram& program, const std::function<bool(const std::string&)>& is_training)
      : program_(program), modes_(program), is_training_(is_training) {}

  void set(Json& nodes) {
    for (Json& json : nodes) {
      if (const size_t graph = inlined_input(json["target"].get<std::string>()); graph != 0) {
        set(json["inputs"][graph]["arg"]["as_graph"]["graph"]["nodes"]);
        while (next_ < program_.nodes.size() && is_alias_of(json, program_.nodes[next_])) ++next_;
      } else {
        set_node(json, program_.nodes.at(next_++));
      }
    }
  }

 private:
  /// Returns whether inlining has made the node for an output of the graph.
  static bool is_alias_of(const Json& json, const Node& node) {
    return node.target == "torch.ops.aten.alias.default" &&
           json["outputs"].dump().find('"' + node.name + '"') != std::string::npos;
  }

  void set_node(Json& json, const Node& node) const {
    const bool trains = is_training_(node.modules.empty() ? "" : node.modules.back().first);
    if (!trains && modes_.counts_batches(node)) json["inputs"][1]["arg"] = {{"as_int", 0}};
    if (!trains && modes_.keeps_samples(node)) fill_in_place_of_drawing(json);
    const std::optional<ModeSwitch> found = modes_.of(node);
    if (!found) return;
    const Json value = argument_of(trains ? found->in_training : found->in_evaluation);
    bool is_given = false;
    for (Json& input : json["inputs"]) {
      if (input["name"] != found->argument) continue;
      input["arg"] = value;
      is_given = true;
    }
    if (is_given) return;
    json["inputs"].push_back({{"name", found->argument}, {"arg", value}});
    set_kind(json["inputs"], 2);
  }

  const ExportedProgram& program_;
  ModeSwitches modes_;
  const std::function<bool(const std::string&)>& is_training_;
  size_t next_ = 0;
};

}  // namespace

std::string with_modes(const std::string& text, const ExportedProgram& program,
                       const std::function<bool(const std::string&)>& is_training) {
  Json json = Json::parse(text);
  Writer(program, is_training).set(json["graph_module"]["graph"]["nodes"]);
  return json.dump();
}

}  // namespace levin::program
