#include <levin/trainer/loops/optimizer_step.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/ScopeExit.h>
#include <levin/data/batch_weight.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/trainer/core/error.h>
#include <torch/optim/lbfgs.h>

namespace levin {
namespace {

void check_loss(const at::Tensor& loss) {
  if (loss.numel() != 1)
    throw UsageError("training_step: expected a loss with one element, got shape ", loss.sizes(),
                     "; return its mean() or sum()");
  if (!loss.requires_grad())
    throw UsageError(
        "training_step: the loss has no gradient: nothing that it was computed from requires one. Is there a "
        "torch::NoGradGuard, a detach(), or are all parameters frozen? Return {} to skip a batch.");
}

/// Throws for uses that a GradScaler or master weights do not support.
void check_scaling(RunContext& run) {
  const char* name = run.precision.name();
  for (const auto& optimizer : run.optimizer_list)
    if (dynamic_cast<const torch::optim::LBFGS*>(optimizer.get()))
      throw UsageError("trainer.precision: ", name,
                       " looks at the gradients once before a step, and LBFGS computes them many times in one; use "
                       "bf16-mixed or 32-true");
  if (!run.optimizer_list.empty() && run.precision.master_weights(0) != nullptr && !run.module().automatic_optimization)
    throw UsageError("trainer.amp_level: O2 runs automatic optimization only; use O1, which is precision 16-mixed");
}

}  // namespace

OptimizerStep::OptimizerStep(RunContext& run)
    : run_(run),
      scaler_(run.precision.scaler()),
      closure_([this] { return body(); }),
      gradient_clip_val_(run.options.gradient_clip_val),
      gradient_clip_algorithm_(run.options.gradient_clip_algorithm == "value" ? GradientClipAlgorithm::Value
                                                                              : GradientClipAlgorithm::Norm),
      zero_grad_overridden_(run.overrides().has(ModuleMethod::optimizer_zero_grad)),
      captured_(make_captured_step(run)) {
  const bool automatic = run.module().automatic_optimization;
  if (automatic && size() > 1)
    throw UsageError("configure_optimizers returned ", size(),
                     " optimizers, and automatic optimization drives one; set automatic_optimization = false in the "
                     "module and step them in training_step");
  if (!automatic && gradient_clip_val_.value_or(0) > 0)
    throw UsageError(
        "trainer.gradient_clip_val: manual optimization clips itself; unset it and call "
        "optimizer(i).clip_gradients(",
        *gradient_clip_val_, ") before optimizer(i).step()");
  if (!automatic && run.options.accumulate_grad_batches > 1)
    throw UsageError(
        "trainer.accumulate_grad_batches: manual optimization accumulates itself; set it to 1 and step "
        "every ",
        run.options.accumulate_grad_batches, " batches in training_step");
  if (scaler_ != nullptr) {
    check_scaling(run);
    // A rank whose first window has weight 0 has scaled no loss before it unscales the reduced gradients.
    scaler_->scale(at::zeros({}, at::TensorOptions(run.device())));
  }
  for (size_t i = 0; i < size(); ++i) gradients_.emplace_back(optim::detail::parameters_of(raw(i)));
}

OptimizerStep::Outcome OptimizerStep::run(const Batch& batch, int64_t batch_idx, bool last_batch, bool weightless) {
  batch_ = &batch;
  batch_idx_ = batch_idx;
  weightless_ = weightless;
  counts_ = !weightless;
  prepare(last_batch);
  if (captured_ && replay()) {
    // The step is made.
  } else if (run_.module().automatic_optimization) {
    run_automatic();
  } else {
    run_training_step();
  }
  return finish();
}

OptimizerStep::Outcome OptimizerStep::finish_window() {
  batch_ = nullptr;
  weightless_ = false;
  prepare(/*last_batch=*/true);
  run_automatic();
  return finish();
}

OptimizerStep::Outcome OptimizerStep::finish() {
  if (scaler_ != nullptr && scaler_->is_in_use()) scaler_->update();
  run_.counters.window.position = last_ ? 0 : run_.counters.window.position + 1;
  return {.window_done = last_, .stepped = stepped_, .skipped = stepped_ && !updated_};
}

void OptimizerStep::drop_output() {
  output_ = {};
  run_.current_output = nullptr;
}

void OptimizerStep::prepare(bool last_batch) {
  WindowState& window = run_.counters.window;
  first_ = window.position == 0;
  if (first_) {
    window.size = run_.counters.accumulate_grad_batches;
    window.first_weight = window.sum_of_weights = 0;
  }
  last_ = last_batch || window.position + 1 >= window.size;
  weight_before_ = window.sum_of_weights;
  body_ran_ = stepped_ = updated_ = false;
  total_weight_ = 0;
}

void OptimizerStep::run_automatic() {
  if (!last_ || size() == 0) {
    body();
    return;
  }
  LightningOptimizer optimizer(*this, 0);
  run_.module().optimizer_step(optimizer, closure_);
  if (!body_ran_)
    throw UsageError(
        "optimizer_step did not run the closure, so that no loss was computed; pass it to "
        "optimizer.step(closure), or call it");
}

bool OptimizerStep::replay() {
  // Only a window of one batch can be captured as a whole step.
  if (run_.counters.window.size != 1) return false;
  const std::optional<CapturedStep::Outcome> outcome = captured_->run(*batch_, [this](const Batch& batch) {
    const Batch* const given = std::exchange(batch_, &batch);
    capturing_ = true;
    const auto as_before = c10::make_scope_exit([&] {
      batch_ = given;
      capturing_ = false;
    });
    run_automatic();
    if (!output_.loss.defined() || output_.weight || output_.weight_tensor.defined())
      throw UsageError(
          "trainer.cuda_graphs: training_step must return a loss in each step, and no weight; set cuda_graphs to "
          "false");
    CapturedStep::Output left = {.loss = output_.loss.detach()};
    if (scaler_ != nullptr) {
      left.found_inf = scaler_->found_inf(raw(0));
      scaler_->update();
    }
    return left;
  });
  if (!outcome) return false;
  WindowState& window = run_.counters.window;
  window.first_weight = window.sum_of_weights = total_weight_ = static_cast<double>(weight_of_batch(*batch_));
  output_ = outcome->loss;
  run_.current_output = &output_;
  stepped_ = true;
  updated_ = !outcome->skipped;
  return true;
}

at::Tensor OptimizerStep::body() {
  if (body_ran_ && scaler_ != nullptr)
    throw UsageError("the closure ran more than once in a step, and gradients are looked at once with precision ",
                     run_.precision.name(), "; use bf16-mixed or 32-true");
  if (body_ran_ && !first_)
    throw UsageError(
        "the optimizer evaluates its closure more than once in a step, which would add up the window's gradients "
        "again; "
        "set trainer.accumulate_grad_batches to 1");
  body_ran_ = true;
  WindowState& window = run_.counters.window;
  const at::Tensor loss = batch_ != nullptr ? run_training_step() : at::Tensor();
  if (first_)
    for (size_t i = 0; i < size(); ++i) call_zero_grad(i);
  const double own = loss.defined() ? weigh() : 0;  // the weight that it would have if it counted
  const double weight = weightless_ ? 0 : own;
  counts_ = weight > 0;
  add_weight(weight);
  if (last_) run_.strategy.begin_sum_of_weights(window.sum_of_weights);
  if (own > 0) {
    check_loss(loss);
    at::Tensor scaled_loss = scale(scaled(loss, weight));
    run_.hooks.on_before_backward(run_, scaled_loss);
    run_.strategy.backward(scaled_loss, /*sync=*/last_);
    run_.hooks.on_after_backward(run_);
  } else if (last_) {
    run_.strategy.backward_of_nothing();
  }
  if (!last_) return loss;
  total_weight_ = run_.strategy.sum_of_weights();
  for (size_t i = 0; i < size(); ++i) finish_gradients(i);
  return loss;
}

void OptimizerStep::add_weight(double weight) {
  WindowState& window = run_.counters.window;
  if (window.first_weight == 0) window.first_weight = weight;
  if (Comm& comm = run_.strategy.comm(); comm.world_size() > 1) {
    double& reference = run_.counters.reference_weight;
    if (reference == 0) {
      // The first weight, in rank order, that is not 0: losses are divided by it.
      for (const at::Tensor& of_rank : comm.all_gather(at::full({1}, weight, at::TensorOptions(at::kDouble))))
        if (reference == 0) reference = of_rank.item<double>();
    }
    window.first_weight = reference;
  }
  window.sum_of_weights = weight_before_ + weight;
}

at::Tensor OptimizerStep::run_training_step() {
  run_.precision.forward_context([this] { output_ = run_.strategy.run_step(*batch_, batch_idx_); });
  run_.current_output = &output_;
  return output_.loss;
}

double OptimizerStep::weigh() {
  double weight = 0;
  if (output_.weight_tensor.defined())
    weight = output_.weight_tensor.item<double>();  // host sync on a GPU
  else
    weight = output_.weight ? *output_.weight : static_cast<double>(weight_of_batch(*batch_));
  if (!(weight >= 0)) throw UsageError("training_step: expected a weight of at least 0, got ", weight);
  return weight;
}

at::Tensor OptimizerStep::scaled(const at::Tensor& loss, double weight) const {
  const WindowState& window = run_.counters.window;
  at::Tensor scaled = loss;
  if (weight == 0)
    scaled = scaled * 0;
  else if (weight != window.first_weight)
    scaled = scaled * (weight / window.first_weight);
  if (window.size > 1) scaled = scaled / window.size;
  return scaled;
}

void OptimizerStep::call_zero_grad(size_t index) {
  run_.hooks.on_before_zero_grad(run_, raw(index));
  if (zero_grad_overridden_) {
    LightningOptimizer optimizer(*this, index);
    run_.module().optimizer_zero_grad(optimizer);
  } else {
    zero_grad(index);
  }
}

Gradients& OptimizerStep::gradients_of(size_t index) {
  Gradients& gradients = gradients_.at(index);
  gradients.follow(raw(index));
  return gradients;
}

void OptimizerStep::finish_gradients(size_t index) {
  const WindowState& window = run_.counters.window;
  if (total_weight_ == 0) {
    // No sample counted: without gradients LibTorch's optimizers leave their parameters and state unchanged.
    zero_grad(index);
    return;
  }
  const auto shares = static_cast<double>(window.size * run_.strategy.comm().world_size());
  const double full = shares * window.first_weight;
  unscale(index, full == total_weight_ ? 1.0 : full / total_weight_);
  run_.hooks.on_before_optimizer_step(run_, raw(index));
  LightningOptimizer optimizer(*this, index);
  run_.module().configure_gradient_clipping(optimizer, gradient_clip_val_, gradient_clip_algorithm_);
}

/// Applies the window's weights and the loss scale in one pass over the gradients.
void OptimizerStep::unscale(size_t index, double multiplier) {
  if (auto* masters = run_.precision.master_weights(index)) masters->take_gradients();
  if (scaler_ == nullptr) {
    gradients_of(index).pass(multiplier, /*want_norm=*/false);
    return;
  }
  scaler_->unscale_(raw(index), gradients_of(index), multiplier);
  Comm& comm = run_.strategy.comm();
  if (comm.world_size() > 1) comm.all_reduce(scaler_->found_inf(raw(index)), ReduceOp::Max);
}

void OptimizerStep::zero_grad(size_t index) {
  gradients_of(index).zero();
  run_.strategy.zero_grad(raw(index));
  if (auto* masters = run_.precision.master_weights(index)) masters->zero_grad();
}

void OptimizerStep::step(size_t index, const Closure& closure) {
  const bool automatic = run_.module().automatic_optimization;
  if (scaler_ != nullptr) {
    step_scaled(index, closure);
  } else {
    if (!automatic) run_.hooks.on_before_optimizer_step(run_, raw(index));
    make_step(index, closure);
    updated_ = true;
  }
  stepped_ = !automatic || total_weight_ > 0;
}

/// If the step fails because its state does not fit, the error names the parameter.
void OptimizerStep::make_step(size_t index, const Closure& closure) {
  try {
    run_.strategy.step(raw(index), closure);
  } catch (const std::exception&) {
    if (const std::string misfit = misfit_of_state(raw(index), run_.module()); !misfit.empty())
      throw UsageError(misfit);
    throw;
  }
}

/// The closure runs first, because whether the step is made depends on the gradients.
void OptimizerStep::step_scaled(size_t index, const Closure& closure) {
  if (closure) {
    const at::AutoGradMode with_gradients(true);
    closure();
  }
  if (run_.module().automatic_optimization) {
    if (total_weight_ == 0) return;
  } else {
    if (!scaler_->is_unscaled(raw(index))) unscale(index, 1.0);
    run_.hooks.on_before_optimizer_step(run_, raw(index));
  }
  if (capturing_) {
    auto& ours = static_cast<optim::Optimizer&>(raw(index));
    ours.set_found_inf(scaler_->found_inf(ours));
    run_.strategy.step(ours, nullptr);
    return;
  }
  const bool made = scaler_->step(raw(index), [&] { make_step(index, nullptr); });  // host sync
  updated_ |= made;
  if (auto* masters = run_.precision.master_weights(index); masters != nullptr && made) masters->write_back();
  // The clipping coefficient was for this step only.
  if (auto* ours = dynamic_cast<optim::Optimizer*>(&raw(index)); ours != nullptr && !made)
    ours->set_gradient_multiplier(1);
}

/// The strategy averages over all ranks; the factor turns that into the mean over the ranks that have a batch.
at::Tensor OptimizerStep::share_of_mean(const at::Tensor& loss) const {
  if (weightless_) return loss * 0;
  const int64_t ranks = run_.strategy.comm().world_size();
  return ranks_with_batch_ == ranks ? loss
                                    : loss * (static_cast<double>(ranks) / static_cast<double>(ranks_with_batch_));
}

void OptimizerStep::backward(const at::Tensor& loss) {
  // Updated as late as possible, because another optimizer's gradients may still have to be unscaled.
  if (scaler_ != nullptr && scaler_->all_stepped()) scaler_->update();
  at::Tensor scaled_loss = scale(share_of_mean(loss));
  run_.hooks.on_before_backward(run_, scaled_loss);
  run_.strategy.backward(scaled_loss, /*sync=*/true);
  run_.hooks.on_after_backward(run_);
}

void OptimizerStep::clip_gradients(size_t index, double value, GradientClipAlgorithm algorithm) {
  if (scaler_ != nullptr && !run_.module().automatic_optimization && !scaler_->is_unscaled(raw(index)))
    unscale(index, 1.0);
  if (value <= 0) return;
  Gradients& gradients = gradients_of(index);
  if (algorithm == GradientClipAlgorithm::Value) {
    gradients.clip_value(value);
    return;
  }
  const at::Tensor norm = gradients.pass(1.0, /*want_norm=*/true).norm;
  // Writes the clipped gradients even if the optimizer could multiply in its step: hooks and a second clip see them.
  gradients.clip_norm(run_.strategy.reduce_norm(norm), value);
}

}  // namespace levin
