#include <levin/modules/program/mode_switch.h>
#include <levin/modules/program/node_names.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace levin::program {
namespace {

constexpr const char* kCount = "num_batches_tracked";

struct Flag {
  std::string_view base;  ///< the operator's name, without overload and without the _ of those in place
  std::string_view argument;
  std::string_view needs = {};  ///< the node depends on the mode only if it has this tensor
};

constexpr std::array kFlags = {
    Flag{"dropout", "train"},
    Flag{"feature_dropout", "train"},
    Flag{"alpha_dropout", "train"},
    Flag{"feature_alpha_dropout", "train"},
    Flag{"rrelu", "training"},
    Flag{"lstm", "train"},
    Flag{"gru", "train"},
    Flag{"rnn_tanh", "train"},
    Flag{"rnn_relu", "train"},
    Flag{"batch_norm", "training", "running_mean"},
    Flag{"instance_norm", "use_input_stats", "running_mean"},
};

/// "torch.ops.aten.dropout_.default": dropout.
std::string_view base_of(std::string_view target) {
  std::string_view name = aten_name(target);
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

bool is_stochastic_depth(const Node& node) {
  if (node.modules.empty()) return false;
  const std::string& name = node.modules.back().second;
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  return last == "StochasticDepth" || last == "DropPath";
}

/// Returns whether the value makes the node train: a flag that is set, a probability above 0.
bool trains(const Argument& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  const auto* probability = std::get_if<double>(&value);
  return probability != nullptr && *probability > 0;
}

}  // namespace

ModeSwitches::ModeSwitches(const ExportedProgram& program) {
  for (const Input& input : program.inputs)
    if (input.kind == InputKind::Buffer) buffers_[input.value] = input.target;
  bool has_flag = false, has_training = false;
  for (const Node& node : program.nodes) {
    // What counting makes is the buffer again.
    if (counts_batches(node) && node.outputs.size() == 1)
      if (const auto* made = std::get_if<std::optional<Name>>(&node.outputs.front()); made != nullptr && *made)
        buffers_[(*made)->text] = buffers_.at(std::get<Name>(node.inputs.front().value).text);
    const std::optional<ModeSwitch> found = switch_of(node);
    if (!found) continue;
    // A flag that is left out has the operator's default, false.
    const Argument* value = find_argument(node, found->argument);
    has_flag = has_flag || value == nullptr || std::holds_alternative<bool>(*value);
    has_training = has_training || (value != nullptr && trains(*value));
  }
  exported_in_evaluation_ = has_flag && !has_training;
  if (exported_in_evaluation_) find_uncounted(program);
}

void ModeSwitches::find_uncounted(const ExportedProgram& program) {
  for (const Node& node : program.nodes) {
    const Argument* mean = base_of(node.target) == "batch_norm" ? find_argument(node, "running_mean") : nullptr;
    const auto* name = mean == nullptr ? nullptr : std::get_if<Name>(mean);
    const auto buffer = name == nullptr ? buffers_.end() : buffers_.find(name->text);
    if (buffer == buffers_.end()) continue;
    const size_t dot = buffer->second.rfind('.');
    uncounted_.push_back(dot == std::string::npos ? "" : buffer->second.substr(0, dot + 1));
    uncounted_.back() += kCount;
  }
}

std::optional<ModeSwitch> ModeSwitches::switch_of(const Node& node) const {
  const std::string_view base = base_of(node.target);
  for (const Flag& flag : kFlags) {
    if (flag.base != base) continue;
    const Argument* needed = flag.needs.empty() ? nullptr : find_argument(node, flag.needs);
    if (!flag.needs.empty() && (needed == nullptr || !std::holds_alternative<Name>(*needed))) return std::nullopt;
    return ModeSwitch{std::string(flag.argument), true, false};
  }
  if (base == "scaled_dot_product_attention") {
    const Argument* given = find_argument(node, "dropout_p");
    const auto* probability = given == nullptr ? nullptr : std::get_if<double>(given);
    if (probability == nullptr || !(*probability > 0)) return std::nullopt;
    return ModeSwitch{"dropout_p", *probability, 0.0};
  }
  return std::nullopt;
}

std::optional<ModeSwitch> ModeSwitches::of(const Node& node) const {
  const std::optional<ModeSwitch> found = switch_of(node);
  if (!found || exported_in_evaluation_) return found;
  const Argument* value = find_argument(node, found->argument);
  return value != nullptr && trains(*value) ? found : std::nullopt;
}

bool ModeSwitches::counts_batches(const Node& node) const {
  if (node.target != "torch.ops.aten.add_.Tensor" || node.inputs.size() < 2) return false;
  const auto* self = std::get_if<Name>(&node.inputs.front().value);
  if (self == nullptr) return false;
  const auto buffer = buffers_.find(self->text);
  return buffer != buffers_.end() && buffer->second.ends_with(kCount);
}

std::vector<std::string> ModeSwitches::uncounted() const { return uncounted_; }

bool ModeSwitches::keeps_samples(const Node& node) const {
  return node.target == "torch.ops.aten.bernoulli_.float" && is_stochastic_depth(node);
}

}  // namespace levin::program
