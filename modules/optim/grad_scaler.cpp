#include <levin/modules/optim/grad_scaler.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/gradients.h>
#include <levin/modules/optim/engine/parameter_groups.h>
#include <torch/optim/optimizer.h>

#include <algorithm>

namespace levin::optim {
namespace {

void refuse_float16(const torch::optim::Optimizer& optimizer) {
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params())
      if (parameter.grad().defined() && parameter.grad().scalar_type() == at::kHalf)
        throw UsageError(
            "GradScaler: a gradient is float16, and so it must have fitted unscaled; keep the parameters in float32 "
            "and "
            "run the forward under levin::Autocast, or step float32 copies of them (levin::optim::MasterWeights)");
}

}  // namespace

GradScaler::GradScaler() : GradScaler(GradScalerOptions{}) {}

GradScaler::GradScaler(GradScalerOptions options) : options_(options) {
  if (!options.enabled) return;
  if (!(options.growth_factor > 1))
    throw UsageError("GradScaler: expected a growth_factor above 1, got ", options.growth_factor);
  if (!(options.backoff_factor < 1))
    throw UsageError("GradScaler: expected a backoff_factor below 1, got ", options.backoff_factor);
}

at::Tensor GradScaler::scale(const at::Tensor& outputs) {
  if (!options_.enabled) return outputs;
  if (!scale_.defined()) {
    const auto on_device = at::TensorOptions(outputs.device()).requires_grad(false);
    scale_ = at::full({}, options_.init_scale, on_device.dtype(at::kFloat));
    growth_tracker_ = at::full({}, first_growth_tracker_, on_device.dtype(at::kInt));
  }
  return outputs * scale_.to(outputs.device(), /*non_blocking=*/!outputs.is_cpu());
}

void GradScaler::unscale_(torch::optim::Optimizer& optimizer) {
  if (!options_.enabled) return;
  Gradients gradients = Gradients::of_checked(detail::parameters_of(optimizer));
  unscale_(optimizer, gradients, 1.0);
}

void GradScaler::unscale_(torch::optim::Optimizer& optimizer, Gradients& gradients, double multiplier) {
  if (!options_.enabled) {
    gradients.pass(multiplier, /*want_norm=*/false);
    return;
  }
  check_scaled("unscale_");
  if (const Used* used = find(optimizer))
    throw UsageError("GradScaler::unscale_: ", used->stepped ? "the optimizer has stepped" : "it was called",
                     " since the last update()");
  refuse_float16(optimizer);
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().mul(multiplier).to(at::kFloat);
  used_.push_back({&optimizer, gradients.pass(inverse, /*want_norm=*/false, /*want_found_inf=*/true).found_inf});
}

bool GradScaler::is_unscaled(const torch::optim::Optimizer& optimizer) const {
  return std::any_of(used_.begin(), used_.end(),
                     [&](const Used& used) { return used.optimizer == &optimizer && !used.stepped; });
}

bool GradScaler::all_stepped() const {
  return is_in_use() && std::all_of(used_.begin(), used_.end(), [](const Used& used) { return used.stepped; });
}

at::Tensor& GradScaler::found_inf(const torch::optim::Optimizer& optimizer) {
  Used* used = find(optimizer);
  if (used == nullptr) throw UsageError("GradScaler::found_inf: call unscale_(optimizer) first");
  return used->found_inf;
}

bool GradScaler::step(torch::optim::Optimizer& optimizer) {
  return step(optimizer, [&] { optimizer.step(); });
}

bool GradScaler::step(torch::optim::Optimizer& optimizer, c10::function_ref<void()> make_step) {
  if (!options_.enabled) {
    make_step();
    return true;
  }
  check_scaled("step");
  if (!find(optimizer)) unscale_(optimizer);
  Used* used = find(optimizer);
  if (used->stepped) throw UsageError("GradScaler::step: the optimizer has stepped since the last update()");
  const bool finite = used->found_inf.item<float>() == 0;  // host sync
  used->stepped = true;
  if (finite) make_step();
  return finite;
}

void GradScaler::update(std::optional<double> new_scale) {
  if (!options_.enabled) return;
  check_scaled("update");
  if (new_scale) {
    scale_.fill_(*new_scale);
  } else {
    if (used_.empty()) throw UsageError("GradScaler::update: no optimizer was unscaled or stepped since the last one");
    at::Tensor found = used_.front().found_inf.to(scale_.device(), /*non_blocking=*/!scale_.is_cpu());
    for (size_t i = 1; i < used_.size(); ++i)
      found = found + used_[i].found_inf.to(scale_.device(), /*non_blocking=*/!scale_.is_cpu());
    at::_amp_update_scale_(scale_, growth_tracker_, found, options_.growth_factor, options_.backoff_factor,
                           options_.growth_interval);
  }
  used_.clear();
}

double GradScaler::get_scale() const {
  if (!options_.enabled) return 1;
  return scale_.defined() ? scale_.item<double>() : options_.init_scale;  // host sync
}

State GradScaler::state_dict() const {
  if (!options_.enabled) return State::dict();
  const int64_t tracker = growth_tracker_.defined() ? growth_tracker_.item<int64_t>() : first_growth_tracker_;
  return State::dict({{"scale", get_scale()},
                      {"growth_factor", options_.growth_factor},
                      {"backoff_factor", options_.backoff_factor},
                      {"growth_interval", options_.growth_interval},
                      {"_growth_tracker", tracker}});
}

void GradScaler::load_state_dict(const State& state) {
  if (!options_.enabled) return;
  if (state.size() == 0) throw UsageError("GradScaler::load_state_dict: the state is empty, of a scaler not enabled");
  const Options loaded = {.init_scale = state.at("scale").to_double(),
                          .growth_factor = state.at("growth_factor").to_double(),
                          .backoff_factor = state.at("backoff_factor").to_double(),
                          .growth_interval = state.at("growth_interval").to_int()};
  first_growth_tracker_ = state.at("_growth_tracker").to_int();
  options_ = loaded;
  if (!scale_.defined()) return;
  scale_.fill_(loaded.init_scale);
  growth_tracker_.fill_(first_growth_tracker_);
}

GradScaler::Used* GradScaler::find(const torch::optim::Optimizer& optimizer) {
  const auto found =
      std::find_if(used_.begin(), used_.end(), [&](const Used& used) { return used.optimizer == &optimizer; });
  return found == used_.end() ? nullptr : &*found;
}

void GradScaler::check_scaled(const char* call) const {
  if (!scale_.defined())
    throw UsageError("GradScaler::", call, ": nothing was scaled yet; start backward from scaler.scale(loss)");
}

}  // namespace levin::optim
