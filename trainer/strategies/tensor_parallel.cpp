#include <levin/trainer/strategies/tensor_parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <levin/core/device/rng_state.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/parallel/tensor/divide_module.h>
#include <levin/modules/parallel/tensor/joined_state.h>

#include <map>
#include <unordered_map>
#include <utility>

namespace levin {
namespace {

/// Returns how each of an optimizer's parameters is divided; null for one that is not.
std::vector<const parallel::Partition*> partitions_in_order(
    const std::vector<at::Tensor>& parameters, const torch::nn::Module& module,
    const std::map<std::string, parallel::Partition>& partitions) {
  std::unordered_map<const void*, const parallel::Partition*> divided;
  for (const auto& item : module.named_parameters())
    if (const auto found = partitions.find(item.key()); found != partitions.end())
      divided[item.value().unsafeGetTensorImpl()] = &found->second;
  std::vector<const parallel::Partition*> in_order;
  for (const at::Tensor& parameter : parameters) {
    const auto found = divided.find(parameter.unsafeGetTensorImpl());
    in_order.push_back(found != divided.end() ? found->second : nullptr);
  }
  return in_order;
}

}  // namespace

TensorParallelStrategy::TensorParallelStrategy(std::unique_ptr<RankMesh> mesh, std::unique_ptr<DdpStrategy> inner)
    : ForwardingStrategy(std::move(inner)),
      mesh_(std::move(mesh)),
      data_parallel_(static_cast<DdpStrategy&>(this->inner())),
      rank_sync_(mesh_->all(), mesh_->tensor()->present_ranks()) {}

TensorParallelStrategy::~TensorParallelStrategy() { destroy_inner(); }

std::string TensorParallelStrategy::where() const {
  return c10::str(mesh_->all().world_size(), " ranks, ", mesh_->data().world_size(), " data-parallel with ",
                  mesh_->tensor()->world_size(), " tensor-parallel each, this one on ", data_parallel_.device());
}

void TensorParallelStrategy::set_context(StepContext& context) {
  context.tensor_group = mesh_->tensor();
  ForwardingStrategy::set_context(context);
}

void TensorParallelStrategy::place(LightningModule& module) {
  module_ = &module;
  ForwardingStrategy::place(module);
  parallel::divide_module(module, mesh_->tensor());
  if (mesh_->tensor()->present_ranks() > 1) load_rng_state(gather_states(rng_state(), *mesh_->tensor()).front());
}

void TensorParallelStrategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  if (!module_->automatic_optimization)
    throw UsageError("trainer.mesh.tensor: tensor parallelism runs automatic optimization alone; set mesh.tensor to 1");
  if (optimizers.size() > 1)
    throw UsageError("trainer.mesh.tensor: tensor parallelism has one optimizer, configure_optimizers returned ",
                     optimizers.size(), "; set mesh.tensor to 1");
  if (!optimizers.empty()) {
    optimizer_ = optimizers.front().get();
    parameters_ = optim::detail::parameters_of(*optimizer_);
  }
  ForwardingStrategy::attach(optimizers);
}

/// What all ranks of a tensor group have counts once: on its first rank.
at::Tensor TensorParallelStrategy::square_of_undivided() const {
  const at::NoGradGuard no_grad;
  at::Tensor square = at::zeros({}, at::TensorOptions(at::kDouble).device(data_parallel_.device()));
  if (mesh_->tensor()->rank() == 0 || optimizer_ == nullptr) return square;
  const std::map<std::string, parallel::Partition> partitions = parallel::partitions_of(*module_);
  const std::vector<at::Tensor> whole = data_parallel_.whole_parameters(*optimizer_);
  const auto in_order = partitions_in_order(whole, *module_, partitions);
  const std::vector<at::Tensor> held = optim::detail::parameters_of(*optimizer_);
  for (size_t i = 0; i < held.size(); ++i)
    if (in_order[i] == nullptr && held[i].grad().defined()) square += held[i].grad().to(at::kDouble).square().sum();
  return square;
}

at::Tensor TensorParallelStrategy::reduce_norm(const at::Tensor& norm) {
  const at::Tensor all = norm.to(at::kDouble).square();
  const at::Tensor counted = at::where(all.isfinite(), (all - square_of_undivided()).clamp_min(0), all);
  at::Tensor square = ForwardingStrategy::reduce_norm(counted.sqrt()).square();
  mesh_->tensor()->all_reduce(square, ReduceOp::Sum);
  return square.sqrt_().to(norm.scalar_type());
}

State TensorParallelStrategy::optimizer_state(torch::optim::Optimizer& optimizer) {
  if (optimizer_ == nullptr)
    throw UsageError("trainer.mesh.tensor: the optimizer's state is divided by parts that the module no longer has");
  State state = inner().state().optimizer_state(optimizer);
  if (mesh_->data().rank() != 0) return {};
  const std::map<std::string, parallel::Partition> partitions = parallel::partitions_of(*module_);
  const auto in_order = partitions_in_order(parameters_, *module_, partitions);
  parallel::join_optimizer_state(state, parameters_, in_order, *mesh_->tensor());
  return mesh_->tensor()->rank() == 0 ? state : State();
}

void TensorParallelStrategy::load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) {
  const std::map<std::string, parallel::Partition> partitions = parallel::partitions_of(*module_);
  inner().state().load_optimizer_state(
      optimizer,
      parallel::own_optimizer_state(state, parameters_, partitions_in_order(parameters_, *module_, partitions)));
}

State TensorParallelStrategy::weights() {
  const State own = inner().state().weights();
  return mesh_->data().rank() == 0 ? parallel::join_tensors(*module_, own) : State::dict();
}

void TensorParallelStrategy::give_back() {
  ForwardingStrategy::give_back();
  optimizer_ = nullptr;
  if (module_ != nullptr) parallel::join_module(*module_);
}

}  // namespace levin
