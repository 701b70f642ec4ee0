#include <levin/modules/export/quantized_program.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/modules/export/bound_program.h>
#include <levin/modules/export/folded_batch_norms.h>
#include <levin/modules/export/known_tensors.h>
#include <levin/modules/program/node_names.h>
#include <levin/modules/program/program_json.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace levin::program {
namespace {

constexpr int64_t kLeastInt8 = -128, kMostInt8 = 127;
/// The largest weight of layers that compute in whole numbers. Processors without dot products of bytes (VNNI) add two
/// products in 16 bits, where 2 * 255 * 127 has no room.
constexpr int64_t kMostOfProducts = 63;
/// Below it a scale would have no inverse in float32, and all numbers are zero beside others.
constexpr double kLeastScale = 1e-30;

bool is_convolution(const Node& node) { return aten_name(node.target).starts_with("conv"); }
bool is_transposed(const Node& node) { return aten_name(node.target).starts_with("conv_transpose"); }
/// Layers whose inputs become whole numbers, too.
bool is_product(const Node& node) { return aten_name(node.target) == "linear" || is_convolution(node); }
bool is_bounded_below(const Node& node) {
  const std::string_view op = aten_name(node.target);
  return op == "relu" || op == "relu_" || op == "hardtanh" || op == "hardtanh_" || op == "clamp" || op == "clamp_";
}

std::string only_output(const Node& node) {
  std::vector<std::string> names;
  for (const Node::Output& output : node.outputs)
    for_each_name(output, [&](const std::string& name) { names.push_back(name); });
  return names.size() == 1 ? names.front() : std::string();
}

/// The numbers that a value has had.
struct Seen {
  double least = 0, most = 0;  ///< zero is among them, since padding adds it
};

/// 256 numbers: (n - zero) * scale, for n of int8.
struct Steps {
  double scale = 1;
  int64_t zero = 0;
};

Steps steps_of(const Seen& seen) {
  constexpr double kSteps = kMostInt8 - kLeastInt8;
  const auto scale = static_cast<double>(static_cast<float>((seen.most - seen.least) / kSteps));
  if (scale < kLeastScale) return {};
  return {scale, kLeastInt8 - std::llround(seen.least / scale)};
}

class Quantizer {
 public:
  Quantizer(ExportedProgram& program, ProgramTensors& tensors)
      : program_(program), tensors_(tensors), known_(program, tensors) {}

  void calibrate(const std::vector<std::vector<at::Tensor>>& batches) {
    most_ = kMostOfProducts;
    for (const Output& output : program_.outputs) program_outputs_.insert(output.value);
    std::set<std::string> observed;
    for (const Node& node : program_.nodes) {
      if (!is_product(node) || !weight_of(node).defined()) continue;
      observed.insert(value_of(node, "input"));
      if (const std::string result = result_of(node); !result.empty()) results_.insert(result);
    }
    observed.insert(results_.begin(), results_.end());
    ExportedProgram watched = program_;
    watched.outputs.clear();
    for (const std::string& value : observed) watched.outputs.push_back({OutputKind::User, value, /*buffer=*/""});
    std::map<std::string, at::Tensor> named(tensors_.weights.begin(), tensors_.weights.end());
    named.insert(tensors_.constants.begin(), tensors_.constants.end());
    const BoundProgram runnable(watched, "the exported network", std::move(named));
    for (const std::vector<at::Tensor>& batch : batches) {
      const std::vector<at::Tensor> values = runnable.run(batch);
      size_t next = 0;
      for (const std::string& value : observed) see(value, values.at(next++));
    }
  }

  /// Returns the number of weights that are rounded.
  size_t round() {
    for (const Node& node : program_.nodes) add(node);
    program_.nodes = std::move(nodes_);
    tensors_.constants.insert(tensors_.constants.end(), constants_.begin(), constants_.end());
    const auto users = std::ranges::find(program_.inputs, InputKind::UserTensor, &Input::kind);
    program_.inputs.insert(users, inputs_.begin(), inputs_.end());
    return weights_.size();
  }

 private:
  /// A rounded weight.
  struct Weight {
    std::string value = {};
    at::Tensor scales = {};
  };

  /// Returns the weight that a layer has, if it can be rounded.
  at::Tensor weight_of(const Node& node) const {
    const at::Tensor weight = known_.find(value_of(node, "weight"));
    return weight.defined() && weight.scalar_type() == at::kFloat ? weight : at::Tensor();
  }

  /// Returns the value that is rounded behind a convolution: what it makes, or what an activation makes of that alone.
  std::string result_of(const Node& node) const {
    if (!is_convolution(node)) return {};
    std::string result = only_output(node);
    if (const Node* const reader = known_.only_reader(result); reader != nullptr && is_bounded_below(*reader))
      result = only_output(*reader);
    return program_outputs_.contains(result) ? std::string() : result;
  }

  void see(const std::string& value, const at::Tensor& tensor) {
    if (tensor.numel() == 0 || tensor.scalar_type() != at::kFloat) return;
    const auto [least, most] = at::aminmax(tensor);
    Seen& seen = seen_[value];
    seen.least = std::min(seen.least, least.item<double>());
    seen.most = std::max(seen.most, most.item<double>());
    if (!std::isfinite(seen.least) || !std::isfinite(seen.most) || least.isnan().item<bool>())
      throw UsageError("export: '", value, "' is not finite for a batch to calibrate by; use others");
  }

  void add(const Node& original) {
    Node node = original;
    const auto take_rounded = [&](Name& name) {
      if (results_.contains(name.text)) name.text = values_.at(name.text);
    };
    for (Node::Input& input : node.inputs) {
      if (auto* const name = std::get_if<Name>(&input.value)) take_rounded(*name);
      if (auto* const names = std::get_if<std::vector<Name>>(&input.value)) std::ranges::for_each(*names, take_rounded);
    }
    const bool is_embedding = aten_name(node.target) == "embedding";
    if ((is_product(node) || is_embedding) && weight_of(node).defined()) round_operands(original, node);
    nodes_.push_back(std::move(node));
    if (const std::string made = only_output(original); results_.contains(made)) rounded(made, original);
  }

  void round_operands(const Node& original, Node& node) {
    const Weight& weight = rounded_weight(original, is_transposed(node) ? 1 : 0);
    set(node, "weight", weight.value);
    const std::string input = value_of(original, "input");
    const auto seen = seen_.find(input);
    if (!is_product(node) || seen == seen_.end()) return;
    set(node, "input", rounded(input, original));
    const std::string bias = value_of(original, "bias");
    const at::Tensor values = known_.find(bias);
    const bool has_own_bias = is_convolution(node) ? !is_transposed(node) : rank_of(input) == 2;
    if (!values.defined() || !has_own_bias || values.scalar_type() != at::kFloat) return;
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
    const at::Tensor scales = weight.scales * steps_of(seen->second).scale;
    if (scales.min().item<double>() < kLeastScale) return;
    set(node, "bias", round_channels(bias, original, scales, 0, kLeast, kMost));
  }

  const Weight& rounded_weight(const Node& node, int64_t axis) {
    const std::string name = value_of(node, "weight");
    const auto [place, is_new] = weights_.try_emplace({name, axis});
    if (!is_new) return place->second;
    const at::Tensor weight = known_.find(name);
    const at::Tensor largest = weight.abs().movedim(axis, 0).flatten(1).amax(1);
    const at::Tensor scale = largest / static_cast<double>(most_);
    const at::Tensor scales = at::where(scale >= kLeastScale, scale, 1.0).to(at::kFloat);
    return place->second = {round_channels(name, node, scales, axis, -most_, most_), scales};
  }

  /// Rounds a value to whole numbers with a scale each along a dimension.
  std::string round_channels(const std::string& value, const Node& reader, const at::Tensor& scales, int64_t axis,
                             int64_t least, int64_t most) {
    const std::string result = name_for(value);
    add_constant(result + "_scale", scales);
    add_constant(result + "_zero", at::zeros_like(scales, at::kInt));
    add_rounding("fake_quantize_per_channel_affine", value, result, reader,
                 {{"scale", Name{"c_" + result + "_scale"}},
                  {"zero_point", Name{"c_" + result + "_zero"}},
                  {"axis", axis},
                  {"quant_min", least},
                  {"quant_max", most}});
    return result;
  }

  /// Rounds a value by what was seen of it, once.
  std::string rounded(const std::string& value, const Node& near) {
    if (const auto found = values_.find(value); found != values_.end()) return found->second;
    const Steps steps = steps_of(seen_.at(value));
    const std::string result = name_for(value);
    add_rounding(
        "fake_quantize_per_tensor_affine", value, result, near,
        {{"scale", steps.scale}, {"zero_point", steps.zero}, {"quant_min", kLeastInt8}, {"quant_max", kMostInt8}});
    return values_[value] = result;
  }

  void add_rounding(const std::string& op, const std::string& value, const std::string& result, const Node& near,
                    std::vector<Node::Input> arguments) {
    Node node;
    node.name = result;
    node.target = "torch.ops.aten." + op + ".default";
    node.modules = near.modules;
    node.inputs = std::move(arguments);
    node.inputs.insert(node.inputs.begin(), {.name = "self", .value = Name{value}});
    node.outputs = {std::optional(Name{result})};
    program_.tensors[result] = program_.tensors.at(value);
    program_.tensors[result].requires_grad = false;
    nodes_.push_back(std::move(node));
  }

  void add_constant(const std::string& name, const at::Tensor& tensor) {
    const std::string value = "c_" + name;
    inputs_.push_back({InputKind::Constant, value, name});
    constants_.emplace_back(name, tensor);
    program_.tensors[value] = meta_of(tensor);
  }

  std::string name_for(const std::string& value) const {
    std::string name = value + "_int8";
    while (program_.tensors.contains(name)) name += "_";
    return name;
  }

  size_t rank_of(const std::string& value) const { return program_.tensors.at(value).sizes.size(); }

  static void set(Node& node, const std::string& argument, const std::string& value) {
    for (Node::Input& input : node.inputs)
      if (input.name == argument) input.value = Name{value};
  }

  ExportedProgram& program_;
  ProgramTensors& tensors_;
  KnownTensors known_;
  int64_t most_ = kMostInt8;  ///< of a weight
  std::set<std::string> program_outputs_ = {}, results_ = {};
  std::map<std::string, Seen> seen_ = {};
  std::map<std::string, std::string> values_ = {};  ///< rounded ones, by the value
  std::map<std::pair<std::string, int64_t>, Weight> weights_ = {};
  std::vector<Node> nodes_ = {};
  std::vector<Input> inputs_ = {};
  ProgramTensors::Named constants_ = {};
};

}  // namespace

size_t quantize(ExportedProgram& program, ProgramTensors& tensors,
                const std::vector<std::vector<at::Tensor>>& calibration) {
  const at::NoGradGuard no_grad;
  fold_batch_norms(program, tensors);
  Quantizer quantizer(program, tensors);
  if (!calibration.empty()) quantizer.calibrate(calibration);
  return quantizer.round();
}

}  // namespace levin::program
