#include <levin/modules/export/folded_batch_norms.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <levin/modules/export/known_tensors.h>
#include <levin/modules/program/node_names.h>

#include <set>
#include <utility>
#include <vector>

namespace levin::program {
namespace {

bool normalizes_by_the_batch(const Node& norm) {
  const Argument* const training = find_argument(norm, "training");
  const bool* const value = training == nullptr ? nullptr : std::get_if<bool>(training);
  return value == nullptr || *value;
}

/// Folds a batch norm into the convolution before it, in float64. Returns whether it could.
bool fold(const Node& norm, Node& convolution, KnownTensors& tensors) {
  const std::string_view op = aten_name(convolution.target);
  if (!op.starts_with("conv") || op.starts_with("conv_transpose") || normalizes_by_the_batch(norm)) return false;
  const std::string weight_name = value_of(convolution, "weight"), bias_name = value_of(convolution, "bias"),
                    shift_name = value_of(norm, "bias");
  const at::Tensor weight = tensors.find(weight_name), shift = tensors.find(shift_name),
                   scale = tensors.find(value_of(norm, "weight")), mean = tensors.find(value_of(norm, "running_mean")),
                   variance = tensors.find(value_of(norm, "running_var"));
  if (!weight.defined() || !shift.defined() || !scale.defined() || !mean.defined() || !variance.defined()) return false;
  const at::Tensor bias = bias_name.empty() ? at::zeros_like(mean) : tensors.find(bias_name);
  // Another reader of the weight, or of the norm's bias, would read the folded one.
  if (!bias.defined() || tensors.reads(weight_name) != 1 || tensors.reads(shift_name) != 1) return false;

  const double eps = std::get<double>(*find_argument(norm, "eps"));
  const at::Tensor factor = scale.to(at::kDouble) * (variance.to(at::kDouble) + eps).rsqrt();
  std::vector<int64_t> per_channel(static_cast<size_t>(weight.dim()), 1);
  per_channel.front() = -1;
  const at::Tensor folded_bias = (bias.to(at::kDouble) - mean.to(at::kDouble)) * factor + shift.to(at::kDouble);
  tensors.replace(weight_name, (weight.to(at::kDouble) * factor.view(per_channel)).to(weight.scalar_type()));
  tensors.replace(shift_name, folded_bias.to(shift.scalar_type()));
  std::erase_if(convolution.inputs, [](const Node::Input& input) { return input.name == "bias"; });
  convolution.inputs.insert(convolution.inputs.begin() + 2, {.name = "bias", .value = Name{shift_name}});
  return true;
}

}  // namespace

void fold_batch_norms(ExportedProgram& program, ProgramTensors& tensors) {
  const at::NoGradGuard no_grad;
  KnownTensors known(program, tensors);
  std::set<const Node*> folded;
  for (Node& norm : program.nodes) {
    if (aten_name(norm.target) != "batch_norm") continue;
    const std::string input = value_of(norm, "input");
    Node* const before = known.maker(input);
    if (before == nullptr || known.reads(input) != 1 || !fold(norm, *before, known)) continue;
    // The convolution makes what the norm made.
    program.tensors.erase(input);
    before->outputs = norm.outputs;
    before->name = norm.name;
    folded.insert(&norm);
  }
  std::vector<Node> kept;
  for (Node& node : program.nodes)
    if (!folded.contains(&node)) kept.push_back(std::move(node));
  program.nodes = std::move(kept);
}

}  // namespace levin::program
