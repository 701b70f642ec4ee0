#include <levin/callbacks/model_pruning.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/parallel/ranks/parameter_gradients.h>
#include <levin/modules/reset_parameters.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace levin {
namespace {

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::vector<int64_t> other_dims(const at::Tensor& tensor, int64_t dim) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < tensor.dim(); ++i)
    if (i != dim) dims.push_back(i);
  return dims;
}

int64_t zeros_in(const at::Tensor& mask) {
  return mask.defined() ? mask.numel() - mask.count_nonzero().item<int64_t>() : 0;
}

std::string share(int64_t zeros, int64_t all) {
  return c10::str(zeros, " of ", all, " (", 100.0 * static_cast<double>(zeros) / static_cast<double>(all), " %)");
}

}  // namespace

ModelPruning::ModelPruning(ModelPruningOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "ModelPruning");
  if (options_.pruning_fn == PruningMethod::None)
    throw UsageError(
        "ModelPruning.pruning_fn: missing; give l1_unstructured, random_unstructured, ln_structured or "
        "random_structured");
  if (is_structured() && options_.use_global_unstructured)
    throw UsageError("ModelPruning.pruning_fn: ", options_.pruning_fn.word(),
                     " takes slices of one parameter at a time; set use_global_unstructured to false");
  if (is_structured() && !options_.pruning_dim)
    throw UsageError("ModelPruning.pruning_dim: missing; structured pruning needs the dimension of the slices");
  if (options_.pruning_fn == PruningMethod::LnStructured && !options_.pruning_norm)
    throw UsageError("ModelPruning.pruning_norm: missing; ln_structured needs the norm of the slices, such as 2");
}

bool ModelPruning::is_structured() const {
  return options_.pruning_fn == PruningMethod::LnStructured || options_.pruning_fn == PruningMethod::RandomStructured;
}

bool ModelPruning::is_random() const {
  return options_.pruning_fn == PruningMethod::RandomUnstructured ||
         options_.pruning_fn == PruningMethod::RandomStructured;
}

void ModelPruning::setup(Run& run) {
  if (!run.fitting()) return;
  entries_.clear();
  loaded_ = {};
}

void ModelPruning::on_fit_start(Run& run) {
  const at::NoGradGuard no_grad;
  choose_parameters(run);
  if (loaded_.is_none()) return;
  for (Entry& entry : entries_) {
    if (const State* mask = loaded_.at("masks").find(entry.name))
      entry.mask = mask->to_tensor().to(entry.parameter.options(), /*non_blocking=*/false, /*copy=*/true);
    if (const State* original = loaded_.at("original").find(entry.name))
      entry.original = original->to_tensor().to(entry.parameter.options(), /*non_blocking=*/false, /*copy=*/true);
  }
  loaded_ = {};
}

void ModelPruning::choose_parameters(Run& run) {
  const auto all = run.module().named_parameters();
  const auto layers = run.module().named_modules(/*name_prefix=*/"", /*include_self=*/false);
  const auto add = [&](const std::string& name, const at::Tensor& parameter) {
    const auto* const layer =
        layers.find(name.substr(0, name.size() - std::min(name.size(), last_part(name).size() + 1)));
    entries_.push_back({.name = name,
                        .parameter = parameter,
                        .original = parameter.detach().clone(),
                        .layer = layer != nullptr ? *layer : nullptr});
  };
  for (const std::string& name : options_.parameters_to_prune) {
    const at::Tensor* const found = all.find(name);
    if (found == nullptr)
      throw UsageError("ModelPruning.parameters_to_prune: the module has no parameter ", name,
                       did_you_mean(name, all.keys()));
    add(name, *found);
  }
  if (entries_.empty())
    for (const std::string& last : options_.parameter_names)
      for (const auto& item : all)
        if (last_part(item.key()) == last && item.key() != last) add(item.key(), item.value());
  if (entries_.empty()) throw UsageError("ModelPruning: the module has no parameter to prune");
  for (const Entry& entry : entries_)
    if (is_structured() && (*options_.pruning_dim < 0 || *options_.pruning_dim >= entry.parameter.dim()))
      throw UsageError("ModelPruning.pruning_dim: ", entry.name, " has ", entry.parameter.dim(),
                       " dimensions, and none with the number ", *options_.pruning_dim,
                       "; name the parameters in parameters_to_prune");
}

void ModelPruning::on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) {
  const at::NoGradGuard no_grad;
  for (const ParameterGradient& one : gradients_of(run.module(), optimizer))
    for (const Entry& entry : entries_)
      if (entry.mask.defined() && entry.parameter.is_same(one.parameter)) one.gradient.mul_(one.part_of(entry.mask));
}

void ModelPruning::on_train_batch_end(Run& run) { after_step(run); }

/// Momentum and weight decay may have moved what is pruned.
void ModelPruning::after_step(Run& run) {
  if (run.state().window.position == 0) apply_masks();
}

void ModelPruning::apply_masks() {
  const at::NoGradGuard no_grad;
  for (Entry& entry : entries_)
    if (entry.mask.defined()) entry.parameter.mul_(entry.mask);
}

void ModelPruning::on_train_epoch_end(Run& run) {
  // An epoch that is cut short is not at its end.
  if (options_.prune_on_train_epoch_end && run.state().last_batch) prune(run);
}

void ModelPruning::on_validation_epoch_end(Run& run) {
  if (!options_.prune_on_train_epoch_end && run.fitting() && run.state().stage == Stage::Validate) prune(run);
}

void ModelPruning::prune(Run& run) {
  const at::NoGradGuard no_grad;
  const int64_t epoch = run.state().epoch;
  const double amount = options_.amount_of ? options_.amount_of(epoch) : options_.amount;
  if (!(options_.applies_in ? options_.applies_in(epoch) : options_.apply_pruning) || amount == 0) return;
  if (options_.use_global_unstructured) {
    prune_together(amount);
  } else {
    for (Entry& entry : entries_) {
      const at::Tensor before = entry.mask.defined() ? entry.mask : at::ones_like(entry.parameter);
      entry.mask = pruned(entry.parameter, before, amount);
    }
  }
  if (run.comm().world_size() > 1 && is_random())
    for (Entry& entry : entries_) run.comm().broadcast(entry.mask, 0);
  const bool resets = options_.resets_in ? options_.resets_in(epoch) : options_.use_lottery_ticket_hypothesis;
  if (resets) reset(run);
  apply_masks();
  if (run.comm().is_global_zero()) report();
}

/// If a layer is resampled, only its pruned parameters change: the others and the buffers keep their values.
void ModelPruning::reset(Run& run) {
  std::set<torch::nn::Module*> drawn;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  for (const Entry& entry : entries_) {
    torch::nn::Module* const layer = entry.layer.get();
    if (!options_.resample_parameters || layer == nullptr || drawn.contains(layer)) continue;
    const size_t before = kept.size();
    for (const at::Tensor& tensor : layer->parameters(/*recurse=*/false)) kept.emplace_back(tensor, tensor.clone());
    for (const at::Tensor& tensor : layer->buffers(/*recurse=*/false)) kept.emplace_back(tensor, tensor.clone());
    if (reset_parameters(*layer))
      drawn.insert(layer);
    else
      kept.resize(before);
  }
  for (Entry& entry : entries_) {
    if (!drawn.contains(entry.layer.get())) {
      entry.parameter.copy_(entry.original);
      continue;
    }
    std::erase_if(kept, [&](const auto& item) { return item.first.is_same(entry.parameter); });
    if (run.comm().world_size() > 1) run.comm().broadcast(entry.parameter, 0);
  }
  for (auto& [tensor, value] : kept) tensor.copy_(value);
}

void ModelPruning::prune_together(double amount) {
  std::vector<at::Tensor> values, masks;
  for (const Entry& entry : entries_) {
    values.push_back(entry.parameter.detach().flatten());
    masks.push_back((entry.mask.defined() ? entry.mask : at::ones_like(entry.parameter)).flatten());
  }
  const at::Tensor mask = pruned(at::cat(values), at::cat(masks), amount);
  int64_t start = 0;
  for (Entry& entry : entries_) {
    entry.mask = mask.narrow(0, start, entry.parameter.numel()).reshape(entry.parameter.sizes()).clone();
    start += entry.parameter.numel();
  }
}

/// Returns the mask after a pruning of what the mask `before` has left.
at::Tensor ModelPruning::pruned(const at::Tensor& values, const at::Tensor& before, double amount) const {
  at::Tensor mask = before.clone();
  if (!is_structured()) {
    const at::Tensor left = before.eq(1);
    mask.masked_scatter_(left, mask_of(values.masked_select(left), before.masked_select(left), amount));
    return mask;
  }
  const int64_t dim = *options_.pruning_dim;
  const std::vector<int64_t> others = other_dims(values, dim);
  const at::Tensor left = (others.empty() ? before : before.sum(others)).ne(0).nonzero().flatten();
  return mask.index_copy_(dim, left, mask_of(values.index_select(dim, left), before.index_select(dim, left), amount));
}

int64_t ModelPruning::number_to_prune(double amount, int64_t size) const {
  const double number = amount < 1 ? std::nearbyint(amount * static_cast<double>(size)) : amount;
  if (number > static_cast<double>(size))
    throw UsageError("ModelPruning.amount: ", amount, " are to be pruned, and ", size, " are left; give less");
  return static_cast<int64_t>(number);
}

at::Tensor ModelPruning::mask_of(const at::Tensor& values, const at::Tensor& before, double amount) const {
  const bool by_size = !is_random();
  if (!is_structured()) {
    const int64_t number = number_to_prune(amount, values.numel());
    const at::Tensor importance = (by_size ? values.abs() : at::rand_like(values)).flatten();
    at::Tensor mask = before.clone();
    if (number > 0) mask.view(-1).index_fill_(0, std::get<1>(importance.topk(number, 0, /*largest=*/false)), 0);
    return mask;
  }
  const int64_t dim = *options_.pruning_dim, slices = values.size(dim);
  const int64_t number = number_to_prune(amount, slices);
  if (number == 0) return before;
  const at::Tensor importance = by_size
                                    ? at::linalg_vector_norm(values, *options_.pruning_norm, other_dims(values, dim))
                                    : at::rand({slices}, values.options());
  const at::Tensor kept = std::get<1>(importance.topk(slices - number, 0, /*largest=*/true));
  return at::zeros_like(before).index_fill_(dim, kept, 1).mul_(before);
}

void ModelPruning::report() const {
  if (options_.verbose == 0) return;
  int64_t zeros = 0, all = 0;
  for (const Entry& entry : entries_) {
    zeros += zeros_in(entry.mask);
    all += entry.parameter.numel();
  }
  console::info("ModelPruning: " + options_.pruning_fn.word() + " has set " + share(zeros, all) + " to 0");
  if (options_.verbose < 2) return;
  for (const Entry& entry : entries_)
    console::info("  " + entry.name + ": " + share(zeros_in(entry.mask), entry.parameter.numel()));
}

State ModelPruning::state_dict() const {
  State masks = State::dict(), original = State::dict();
  for (const Entry& entry : entries_) {
    if (entry.mask.defined()) masks[entry.name] = entry.mask;
    original[entry.name] = entry.original;
  }
  return State::dict({{"masks", std::move(masks)}, {"original", std::move(original)}});
}

void ModelPruning::load_state_dict(const State& state) { loaded_ = state; }

at::Tensor ModelPruning::mask(const std::string& name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return entry.mask;
  return {};
}

}  // namespace levin
