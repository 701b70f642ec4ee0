#include <levin/trainer/loops/training_check.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <levin/modules/parallel/ranks/sharded_optimizer.h>
#include <levin/trainer/core/system/console.h>
#include <levin/trainer/core/system/counted.h>

#include <string>
#include <unordered_set>

namespace levin {
namespace {

/// Returns whether the optimizers hold the module's own tensors, and not parts or copies of them.
bool optimizers_hold_parameters(const RunParts& parts) {
  for (size_t i = 0; i < parts.optimizers.size(); ++i) {
    const bool has_parts = parallel::ShardedOptimizer::of(*parts.optimizers[i]) != nullptr;
    if (has_parts || parts.precision.master_weights(i) != nullptr) return false;
  }
  return true;
}

}  // namespace

void TrainingCheck::after_batch(const TrainingStep::Outcome& outcome) {
  batches_ += 1;
  if (has_stepped_ || !outcome.stepped) return;
  has_stepped_ = true;
  if (!run_.parts().trial && run_.parts().is_rank_zero() && optimizers_hold_parameters(run_.parts())) check_gradients();
}

void TrainingCheck::check_gradients() const {
  const RunParts& parts = run_.parts();
  std::unordered_set<const void*> stepped, own;
  for (const auto& optimizer : parts.optimizers)
    for (const at::Tensor& parameter : optim::detail::parameters_of(*optimizer))
      stepped.insert(parameter.unsafeGetTensorImpl());
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
  const RunParts& parts = run_.parts();
  const TrainerState& state = run_.state();
  const bool has_window = batches_ >= state.accumulate_grad_batches;
  if (parts.trial || parts.optimizers.empty() || !has_window || state.global_step > steps_before_) return;
  console::warn(
      c10::str("the fit made no optimizer step in ", batches_, batches_ == 1 ? " batch: " : " batches: ",
               run_.module().automatic_optimization
                   ? "training_step returned no loss, or a weight of 0, in each of them"
                   : "under manual optimization training_step must call optimizer(i).step(), and it did not"));
}

}  // namespace levin
