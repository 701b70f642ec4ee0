#include <levin/callbacks/base_finetuning.h>
#include <levin/callbacks/saved_callback_state.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/parallel/ranks/parameter_gradients.h>
#include <levin/modules/parameter_names.h>
#include <levin/modules/visit_batch_norm.h>

#include <algorithm>
#include <unordered_set>

namespace levin {
namespace {

/// Returns the momentum of a batch norm of LibTorch; null for another module.
std::optional<double>* momentum_of(torch::nn::Module& part) {
  std::optional<double>* momentum = nullptr;
  visit_batch_norm(part, [&](auto& norm) { momentum = &norm.options.momentum(); });
  return momentum;
}

/// Returns the module and all its submodules, each once.
std::vector<torch::nn::Module*> parts_of(torch::nn::Module& module) {
  std::vector<torch::nn::Module*> parts = {&module};
  std::unordered_set<torch::nn::Module*> seen = {&module};
  for (const auto& part : module.modules(/*include_self=*/false))
    if (seen.insert(part.get()).second) parts.push_back(part.get());
  return parts;
}

void set_requires_grad(torch::nn::Module& part, bool value) {
  for (at::Tensor& parameter : part.parameters(/*recurse=*/false)) parameter.set_requires_grad(value);
}

std::unordered_set<const void*> tensors_of(const torch::optim::Optimizer& optimizer) {
  std::unordered_set<const void*> tensors;
  for (const std::vector<at::Tensor>& group : whole_groups(optimizer))
    for (const at::Tensor& parameter : group) tensors.insert(parameter.unsafeGetTensorImpl());
  return tensors;
}

void add_group(torch::optim::Optimizer& optimizer, std::vector<at::Tensor> parameters, std::optional<double> lr) {
  auto options = optimizer.defaults().clone();
  if (lr) options->set_lr(*lr);
  optim::add_param_group(optimizer, torch::optim::OptimizerParamGroup(std::move(parameters), std::move(options)));
}

/// Returns the options and the parameters' names of each group from `first` on, as PyTorch Lightning saves them.
State described_groups(LightningModule& module, torch::optim::Optimizer& optimizer, size_t first) {
  auto names = names_of_parameters(module);
  State groups = State::list();
  const std::vector<std::vector<at::Tensor>> whole = whole_groups(optimizer);
  for (size_t i = first; i < optimizer.param_groups().size(); ++i) {
    State group = State::dict();
    try {
      group = optim::parameter_group_options(optimizer, i);
    } catch (const UsageError&) {
      // The options of an optimizer that is not known are not saved.
    }
    State of_group = State::list();
    for (const at::Tensor& parameter : whole[i]) of_group.push_back(names[parameter.unsafeGetTensorImpl()]);
    group["params"] = std::move(of_group);
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Returns the names in an order that does not depend on where parts are in memory.
State sorted_list(std::vector<std::string> names) {
  std::ranges::sort(names);
  State list = State::list();
  for (std::string& name : names) list.push_back(std::move(name));
  return list;
}

}  // namespace

void BaseFinetuning::setup(Run& run) {
  if (!run.fitting()) return;
  momenta_.clear();
  metadata_ = State::dict();
  loaded_frozen_norms_.reset();
  names_.clear();
  for (const auto& part : run.module().named_modules("", /*include_self=*/false))
    names_.emplace(part.value().get(), part.key());
  freeze_before_training(run.module());
}

/// Adds the groups that the run had added before the save: the optimizer's state has them.
void BaseFinetuning::on_load_checkpoint(Run& run, const State& checkpoint) {
  if (!run.fitting()) return;
  const State* const own = saved_callback_state(checkpoint, state_key());
  const auto parameters = run.module().named_parameters();
  // Parameters that were in the optimizer from the start belong to no group that is added.
  if (const State* const trained = own != nullptr ? own->find("trained") : nullptr)
    for (const State& name : trained->items())
      if (const at::Tensor* const found = parameters.find(name.to_string())) at::Tensor(*found).set_requires_grad(true);
  const State* const saved = own != nullptr ? own->find("internal_optimizer_metadata") : nullptr;
  if (saved == nullptr) return;
  for (size_t i = 0; i < run.optimizers().size(); ++i) {
    torch::optim::Optimizer& optimizer = *run.optimizers()[i];
    const State* const groups = saved->find(static_cast<int64_t>(i));
    if (groups == nullptr) continue;
    for (size_t group = optimizer.param_groups().size(); group < groups->size(); ++group) {
      std::vector<at::Tensor> members;
      for (const State& name : groups->items()[group].at("params").items()) {
        const at::Tensor* const found = parameters.find(name.to_string());
        if (found == nullptr)
          throw UsageError(state_key(), ": the checkpoint's optimizer has a group with the parameter ",
                           name.to_string(), ", which the module lacks");
        members.push_back(*found);
        members.back().set_requires_grad(true);
      }
      // The optimizer's state replaces the rate, unless present options are to win over saved ones.
      const State* const lr = groups->items()[group].find("lr");
      add_group(optimizer, std::move(members), lr != nullptr ? std::optional(lr->to_double()) : std::nullopt);
    }
  }
}

void BaseFinetuning::on_fit_start(Run& run) {
  if (!loaded_frozen_norms_) return;
  for (torch::nn::Module* part : parts_of(run.module()))
    if (momenta_.contains(part) && std::ranges::count(*loaded_frozen_norms_, names_[part]) == 0)
      resume_statistics(*part);
  loaded_frozen_norms_.reset();
}

void BaseFinetuning::on_train_epoch_start(Run& run) {
  for (size_t i = 0; i < run.optimizers().size(); ++i) {
    torch::optim::Optimizer& optimizer = *run.optimizers()[i];
    const size_t before = optimizer.param_groups().size();
    finetune_function(run.module(), run.state().epoch, optimizer);
    State& known = metadata_[static_cast<int64_t>(i)];
    const State groups = described_groups(run.module(), optimizer, known.is_none() ? 0 : before);
    for (const State& group : groups.items()) known.push_back(group);
  }
}

void BaseFinetuning::teardown(Run& /*run*/) {
  put_momenta_back();
  momenta_.clear();
}

/// What is frozen stays known, since a checkpoint may follow.
void BaseFinetuning::on_exception(Run& /*run*/, const std::exception& /*error*/) { put_momenta_back(); }

/// A momentum of 0 leaves the statistics alone while batches are normalized by their own, as in Python.
void BaseFinetuning::stop_statistics(torch::nn::Module& norm) {
  std::optional<double>* const momentum = momentum_of(norm);
  if (momentum != nullptr && momenta_.emplace(&norm, *momentum).second) *momentum = 0.0;
}

void BaseFinetuning::resume_statistics(torch::nn::Module& norm) {
  const auto frozen = momenta_.find(&norm);
  if (frozen == momenta_.end()) return;
  *momentum_of(norm) = frozen->second;
  momenta_.erase(frozen);
}

void BaseFinetuning::put_momenta_back() {
  for (const auto& [part, momentum] : momenta_) *momentum_of(*part) = momentum;
}

void BaseFinetuning::freeze(torch::nn::Module& module, bool train_bn) {
  for (torch::nn::Module* part : parts_of(module)) {
    const bool trains = train_bn && momentum_of(*part) != nullptr;
    set_requires_grad(*part, trains);
    trains ? resume_statistics(*part) : stop_statistics(*part);
  }
}

void BaseFinetuning::make_trainable(torch::nn::Module& module) {
  for (torch::nn::Module* part : parts_of(module)) {
    set_requires_grad(*part, true);
    resume_statistics(*part);
  }
}

std::vector<at::Tensor> BaseFinetuning::filter_params(torch::nn::Module& module, bool train_bn, bool requires_grad) {
  std::vector<at::Tensor> found;
  std::unordered_set<const void*> seen;
  for (torch::nn::Module* part : parts_of(module)) {
    if (!train_bn && momentum_of(*part) != nullptr) continue;
    for (const at::Tensor& parameter : part->parameters(/*recurse=*/false))
      if (parameter.requires_grad() == requires_grad && seen.insert(parameter.unsafeGetTensorImpl()).second)
        found.push_back(parameter);
  }
  return found;
}

void BaseFinetuning::unfreeze_and_add_param_group(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
                                                  std::optional<double> lr, double initial_denom_lr, bool train_bn) {
  make_trainable(module);
  const double rate = lr ? *lr : optimizer.param_groups().at(0).options().get_lr() / initial_denom_lr;
  std::vector<at::Tensor> parameters = filter_params(module, train_bn, /*requires_grad=*/true);
  const std::unordered_set<const void*> present = tensors_of(optimizer);
  const size_t known = std::erase_if(
      parameters, [&](const at::Tensor& parameter) { return present.contains(parameter.unsafeGetTensorImpl()); });
  if (known > 0)
    console::warn(c10::str(state_key(), ": ", known,
                           " parameters that are to be unfrozen are in the optimizer already and stay in their group; "
                           "give configure_optimizers' optimizer only the parameters that are trained from the start"));
  if (!parameters.empty()) add_group(optimizer, std::move(parameters), rate);
}

State BaseFinetuning::state_dict() const {
  std::vector<std::string> frozen, trained;
  for (const auto& [part, momentum] : momenta_)
    if (const auto name = names_.find(part); name != names_.end()) frozen.push_back(name->second);
  for (const auto& [part, name] : names_)
    for (const auto& item : part->named_parameters(/*recurse=*/false))
      if (item.value().requires_grad()) trained.push_back(name + "." + item.key());
  return State::dict({{"internal_optimizer_metadata", metadata_},
                      {"frozen_batch_norms", sorted_list(std::move(frozen))},
                      {"trained", sorted_list(std::move(trained))}});
}

void BaseFinetuning::load_state_dict(const State& state) {
  metadata_ = state.at("internal_optimizer_metadata");
  if (metadata_.is_none()) metadata_ = State::dict();
  const State* const frozen = state.find("frozen_batch_norms");
  if (frozen == nullptr) return;
  loaded_frozen_norms_.emplace();
  for (const State& name : frozen->items()) loaded_frozen_norms_->push_back(name.to_string());
}

}  // namespace levin
