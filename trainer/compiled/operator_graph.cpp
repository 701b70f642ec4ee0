#include <levin/trainer/compiled/operator_graph.h>
#include <levin/core/system/error.h>
#include <levin/modules/recording/trace_watch.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cmath>
#include <string>
#include <unordered_map>

namespace levin::compiled {
namespace {

using Json = nlohmann::ordered_json;
using torch::jit::Node, torch::jit::Value;

[[noreturn]] void refuse_operator(const std::string& what) {
  throw UsageError("trainer.compiled_step: training_step ", what,
                   ", which cannot be compiled; leave compiled_step unset");
}

class Converter {
 public:
  Converter(const torch::jit::Graph& graph, const std::vector<at::Tensor>& inputs) : inputs_(inputs) {
    for (const Value* input : graph.inputs()) name(*input);
    for (const Node* node : graph.nodes()) convert(*node);
    for (const Value* output : graph.outputs()) result_.outputs.push_back(argument(*output));
  }
  OperatorGraph take() { return std::move(result_); }

 private:
  int64_t name(const Value& value) {
    arguments_[&value] = {{"v", next_}};
    return next_++;
  }

  const Json& argument(const Value& value) const { return arguments_.at(&value); }

  Json list(const Node& node) const {
    Json items = Json::array();
    for (const Value* input : node.inputs()) items.push_back(argument(*input));
    return {{"l", std::move(items)}};
  }

  Json constant(const at::Tensor& tensor) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (recording::views_the_same(tensor, inputs_[i])) return {{"v", i}};
    for (size_t i = 0; i < result_.constants.size(); ++i)
      if (recording::views_the_same(tensor, result_.constants[i])) return {{"t", i}};
    result_.constants.push_back(tensor.detach());
    return {{"t", result_.constants.size() - 1}};
  }

  Json constant(const c10::IValue& value) {
    if (value.isNone()) return nullptr;
    if (value.isTensor()) return constant(value.toTensor());
    if (value.isBool()) return value.toBool();
    if (value.isInt()) return value.toInt();
    if (value.isString()) return value.toStringRef();
    if (value.isDevice()) return {{"d", value.toDevice().str()}};
    if (value.isDouble()) {
      const double number = value.toDouble();
      if (std::isfinite(number)) return number;
      return {{"f", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"}};
    }
    if (value.isList()) {
      Json items = Json::array();
      for (const c10::IValue& item : value.toListRef()) items.push_back(constant(item));
      return {{"l", std::move(items)}};
    }
    refuse_operator("uses a constant of type " + value.tagKind());
  }

  void convert(const Node& node) {
    if (node.kind() == c10::prim::Constant) {
      arguments_[node.output()] = constant(*torch::jit::toIValue(node.output()));
    } else if (node.kind() == c10::prim::ListConstruct || node.kind() == c10::prim::TupleConstruct) {
      arguments_[node.output()] = list(node);
    } else {
      check_gradients(node);
      Json call = {{"op", operator_of(node)}, {"in", Json::array()}, {"out", Json::array()}};
      if (node.scopeName() == recording::kWithoutGradients) call["no_grad"] = true;
      for (const Value* input : node.inputs()) call["in"].push_back(argument(*input));
      for (const Value* output : node.outputs()) call["out"].push_back(name(*output));
      result_.calls.push_back(std::move(call));
    }
  }

  static void check_gradients(const Node& node) {
    const c10::FunctionSchema* const schema = node.maybeSchema();
    if (schema == nullptr) return;
    const std::optional<int> sparse = schema->argumentIndexWithName("sparse");
    if (!sparse || static_cast<size_t>(*sparse) >= node.inputs().size()) return;
    const std::optional<c10::IValue> value = torch::jit::toIValue(node.input(static_cast<size_t>(*sparse)));
    if (value && value->isBool() && value->toBool())
      throw UsageError(
          "trainer.compiled_step: training_step has an embedding with sparse gradients, which cannot be compiled; make "
          "it "
          "with sparse = false, or leave compiled_step unset");
  }

  static std::string operator_of(const Node& node) {
    if (node.kind() == c10::prim::ListUnpack || node.kind() == c10::prim::TupleUnpack) return "unpack";
    const c10::FunctionSchema* const schema = node.maybeSchema();
    if (schema == nullptr || schema->name().rfind("aten::", 0) != 0)
      refuse_operator(std::string("calls ") + node.kind().toQualString() + ", no operator of ATen");
    return schema->name() + "." + (schema->overload_name().empty() ? "default" : schema->overload_name());
  }

  const std::vector<at::Tensor>& inputs_;
  OperatorGraph result_ = {};
  std::unordered_map<const Value*, Json> arguments_ = {};
  int64_t next_ = 0;
};

}  // namespace

OperatorGraph operators_of(const torch::jit::Graph& graph, const std::vector<at::Tensor>& inputs) {
  return Converter(graph, inputs).take();
}

}  // namespace levin::compiled
