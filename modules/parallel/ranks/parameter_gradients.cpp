#include <levin/modules/parallel/ranks/parameter_gradients.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <levin/core/ranks/process_group.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/parallel/ranks/sharded_optimizer.h>
#include <levin/modules/parallel/tensor/joined_state.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/parameter_names.h>

#include <atomic>
#include <cmath>
#include <map>
#include <unordered_map>

namespace levin {
namespace {

std::atomic<int64_t> calls = 0;

/// The module's parameters of which an optimizer steps copies in another precision.
class Originals {
 public:
  explicit Originals(const torch::optim::Optimizer& optimizer) {
    if (const auto* const masters = optim::MasterWeights::of(optimizer))
      masters->for_each_copy([&](const at::Tensor& parameter, const at::Tensor& copy) {
        by_copy_.emplace(copy.unsafeGetTensorImpl(), parameter);
      });
  }
  const at::Tensor& of(const at::Tensor& stepped) const {
    const auto found = by_copy_.find(stepped.unsafeGetTensorImpl());
    return found == by_copy_.end() ? stepped : found->second;
  }

 private:
  std::unordered_map<const void*, at::Tensor> by_copy_ = {};
};

using Norms = std::vector<std::pair<std::string, at::Tensor>>;

Norms norms_of(const std::vector<ParameterGradient>& gradients, double norm_type) {
  std::vector<at::Tensor> values;
  for (const ParameterGradient& one : gradients)
    values.push_back(one.gradient.is_sparse() ? one.gradient.coalesce()._values() : one.gradient);
  Norms norms;
  if (values.empty()) return norms;
  const std::vector<at::Tensor> each = at::_foreach_norm(values, norm_type);
  for (size_t i = 0; i < each.size(); ++i) norms.emplace_back(gradients[i].name, each[i]);
  return norms;
}

}  // namespace

at::Tensor ParameterGradient::part_of(const at::Tensor& whole) const {
  if (!is_part) return whole;
  at::Tensor laid_out = whole;
  if (whole.strides() != parameter.strides())
    laid_out = at::empty_strided(parameter.sizes(), parameter.strides(), whole.options()).copy_(whole);
  return parallel::elements(laid_out, begin, gradient.numel());
}

std::vector<ParameterGradient> gradients_of(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer) {
  ++calls;
  auto names = names_of_parameters(module);
  std::vector<ParameterGradient> gradients;
  const auto add = [&](const at::Tensor& parameter, const at::Tensor& gradient, bool is_part, int64_t begin) {
    if (gradient.defined())
      gradients.push_back({.name = names[parameter.unsafeGetTensorImpl()],
                           .parameter = parameter,
                           .gradient = gradient,
                           .is_part = is_part,
                           .begin = begin});
  };
  if (const auto* const sharded = parallel::ShardedOptimizer::of(optimizer)) {
    sharded->for_each_part([&](const at::Tensor& parameter, int64_t begin, const at::Tensor& part) {
      add(parameter, part.grad(), /*is_part=*/true, begin);
    });
    return gradients;
  }
  const Originals originals(optimizer);
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& stepped : group.params()) add(originals.of(stepped), stepped.grad(), /*is_part=*/false, 0);
  return gradients;
}

int64_t detail::calls_of_gradients_of() { return calls; }

std::vector<std::pair<std::string, at::Tensor>> gradient_norms(const torch::nn::Module& module,
                                                               const torch::optim::Optimizer& optimizer,
                                                               double norm_type) {
  const at::NoGradGuard no_grad;
  const Norms own = norms_of(gradients_of(module, optimizer), norm_type);
  const auto* const sharded = parallel::ShardedOptimizer::of(optimizer);
  const parallel::TensorGroup tensor = parallel::tensor_group_of(module);
  if (sharded == nullptr && tensor == nullptr) return own;

  // A row of the norms' powers, whose sums over the ranks are those of the whole gradients, and one of what there is.
  const std::vector<std::string> names = module.named_parameters().keys();
  std::map<std::string, int64_t> places;
  for (size_t i = 0; i < names.size(); ++i) places[names[i]] = static_cast<int64_t>(i);
  const bool is_largest = std::isinf(norm_type);
  const auto partitions = parallel::partitions_of(module);
  at::Tensor table = at::zeros({2, static_cast<int64_t>(names.size())},
                               at::TensorOptions(at::kDouble).device(module.parameters().front().device()));
  for (const auto& [name, norm] : own) {
    if (name.empty()) continue;
    at::Tensor power = is_largest ? norm.to(at::kDouble) : norm.to(at::kDouble).pow(norm_type);
    // What all ranks of a tensor group have counts once.
    if (tensor != nullptr && !is_largest && partitions.count(name) == 0)
      power = power / static_cast<double>(tensor->present_ranks());
    table[0][places[name]] += power;
    table[1][places[name]] = 1;
  }
  // A collective's maximum may lose a NaN.
  if (is_largest) table.nan_to_num_(INFINITY, INFINITY, -INFINITY);
  const ReduceOp op = is_largest ? ReduceOp::Max : ReduceOp::Sum;
  if (sharded != nullptr) sharded->group().all_reduce(table, op);
  if (tensor != nullptr) tensor->all_reduce(table, op);
  const at::Tensor present = table[1].to(at::kCPU);  // host sync
  const at::Tensor whole = is_largest ? table[0] : table[0].pow(1 / norm_type);
  Norms norms;
  for (size_t i = 0; i < names.size(); ++i)
    if (present[static_cast<int64_t>(i)].item<double>() > 0)
      norms.emplace_back(names[i], whole[static_cast<int64_t>(i)]);
  return norms;
}

std::vector<std::vector<at::Tensor>> whole_groups(const torch::optim::Optimizer& optimizer) {
  if (const auto* const sharded = parallel::ShardedOptimizer::of(optimizer)) return sharded->whole_groups();
  std::vector<std::vector<at::Tensor>> groups;
  const Originals originals(optimizer);
  for (const auto& group : optimizer.param_groups()) {
    groups.emplace_back();
    for (const at::Tensor& stepped : group.params()) groups.back().push_back(originals.of(stepped));
  }
  return groups;
}

}  // namespace levin
