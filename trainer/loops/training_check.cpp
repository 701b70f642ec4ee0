#include <levin/trainer/loops/training_check.h>
#include <levin/core/system/console.h>
#include <levin/core/system/counted.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/adapters/low_rank_adapter.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/parallel/ranks/parameter_gradients.h>
#include <levin/modules/parallel/ranks/sharded_optimizer.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace levin {
namespace {

/// Returns whether an optimizer of the run steps what a `Between` gives it in place of the module's parameters.
template <class Between>
bool any_has(const RunParts& parts) {
  return std::ranges::any_of(parts.optimizers, [](const auto& one) { return Between::of(*one) != nullptr; });
}

/// Returns the hooks in which gradients are read, as far as module or callbacks are known to have them.
std::string hooks_with_gradients(const RunParts& parts) {
  std::vector<HookMask> masks = {parts.module.overrides.hooks};
  for (const CallbackEntry& entry : parts.callbacks) masks.push_back(entry.hooks);
  // A class that is known by its base alone counts as having all.
  std::erase_if(masks, [](const HookMask& mask) { return mask.bits == kAllHooks.bits; });
  std::string found;
  for (const auto& [hook, name] : {std::pair(Hook::on_after_backward, "on_after_backward"),
                                   std::pair(Hook::on_before_optimizer_step, "on_before_optimizer_step")})
    if (std::ranges::any_of(masks, [hook = hook](const HookMask& mask) { return mask.has(hook); }))
      found += (found.empty() ? "" : " and ") + std::string(name);
  return found;
}

}  // namespace

TrainingCheck::TrainingCheck(RunContext& run)
    : run_(run), steps_before_(run.state.counters.global_step), asked_before_(detail::calls_of_gradients_of()) {}

void TrainingCheck::after_batch(const TrainingStep::Outcome& outcome) {
  batches_ += 1;
  if (has_stepped_ || !outcome.stepped) return;
  has_stepped_ = true;
  const RunParts& parts = run_.parts;
  if (parts.trial || !parts.is_rank_zero()) return;
  if (parts.options->compiled_step.empty()) check_adapters();
  if (any_has<parallel::ShardedOptimizer>(parts))
    check_hooks();
  else if (!any_has<optim::MasterWeights>(parts))
    check_gradients();
}

void TrainingCheck::check_hooks() const {
  if (detail::calls_of_gradients_of() > asked_before_) return;
  const std::string hooks = hooks_with_gradients(run_.parts);
  if (hooks.empty()) return;
  console::warn(c10::str("strategy ", run_.parts.options->strategy.class_name(),
                         " divides gradients among the ranks, and ", hooks,
                         " did not ask for them by levin::gradients_of(run.module(), optimizer); a hook that reads "
                         "parameter.grad() sees a part or nothing there"));
}

void TrainingCheck::check_adapters() const {
  std::vector<std::string> unused;
  for (const AdaptedLayer& one : adapted_layers(run_.module()))
    if (!one.adapter->was_used()) unused.push_back(one.name);
  if (unused.empty()) return;
  console::warn(
      c10::str(counted(static_cast<int64_t>(unused.size()), "adapter"), " (of ", unused.front(),
               unused.size() > 1 ? ", ..." : "",
               ") took no part in the step, and will not be trained: the module does not multiply by the weight as "
               "a linear layer does"));
}

void TrainingCheck::check_gradients() const {
  const RunParts& parts = run_.parts;
  std::unordered_set<const void*> stepped, own;
  for (const auto& optimizer : parts.optimizers)
    for (const at::Tensor& parameter : optim::detail::parameters_of(*optimizer))
      stepped.insert(parameter.unsafeGetTensorImpl());
  if (stepped.empty()) return;  // configure_optimizers has warned of it
  int64_t left_out = 0;
  std::string first;
  for (const auto& item : run_.module().named_parameters()) {
    const at::Tensor& parameter = item.value();
    own.insert(parameter.unsafeGetTensorImpl());
    if (!parameter.requires_grad() || !parameter.grad().defined() || stepped.contains(parameter.unsafeGetTensorImpl()))
      continue;
    if (left_out++ == 0) first = item.key();
  }
  if (left_out == 0) return;
  std::string text = c10::str(counted(left_out, "parameter"), " of the module (", first, left_out > 1 ? ", ..." : "",
                              ") ", left_out == 1 ? "has a gradient and is" : "have gradients and are",
                              " in no optimizer, so that training does not change ", left_out == 1 ? "it" : "them");
  for (size_t i = 0; i < parts.optimizers.size(); ++i) {
    bool has_own = false;
    for (const at::Tensor& parameter : optim::detail::parameters_of(*parts.optimizers[i]))
      has_own |= own.contains(parameter.unsafeGetTensorImpl());
    if (!has_own)
      text +=
          c10::str("; optimizer ", i,
                   " has none of the module's parameters: it was made with another module's, or a part was replaced "
                   "after it was made");
  }
  console::warn(text + "; give them to an optimizer, or set requires_grad to false");
}

void TrainingCheck::at_end() const {
  const RunParts& parts = run_.parts;
  const TrainerState& state = run_.state.counters;
  const bool has_window = batches_ >= state.accumulate_grad_batches;
  if (parts.trial || parts.optimizers.empty() || !has_window || state.global_step > steps_before_) return;
  console::warn(
      c10::str("the fit made no optimizer step in ", batches_, batches_ == 1 ? " batch: " : " batches: ",
               run_.module().automatic_optimization
                   ? "training_step returned no loss, or a weight of 0, in each of them"
                   : "under manual optimization training_step must call optimizer(i).step(), and it did not"));
}

}  // namespace levin
