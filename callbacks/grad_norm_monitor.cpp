#include <levin/callbacks/grad_norm_monitor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/parallel/ranks/parameter_gradients.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <string>
#include <vector>

namespace levin {
namespace {

/// Returns the order of a norm as Python writes it: "2.0", "inf".
std::string name_of_order(double order) {
  if (std::isinf(order)) return "inf";
  std::string text = c10::str(order);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

}  // namespace

GradNormMonitor::GradNormMonitor(GradNormMonitorOptions options) : options_(options) {
  schema_of<Options>().check(&options_, "GradNormMonitor");
}

void GradNormMonitor::on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) {
  if (run.state().global_step % options_.every_n_steps != 0) return;
  const at::NoGradGuard no_grad;
  const auto norms = gradient_norms(run.module(), optimizer, options_.norm_type);
  if (norms.empty()) return;
  std::vector<at::Tensor> values;
  for (const auto& [of_parameter, norm] : norms) values.push_back(norm);
  const std::string name = "grad_" + name_of_order(options_.norm_type) + "_norm";
  size_t number = 0;
  while (number < run.optimizers().size() && run.optimizers()[number].get() != &optimizer) ++number;
  const LogOptions at_each_step{.on_step = true, .on_epoch = false};
  run.module().log(name + "_total" + (number == 0 ? "" : "/" + std::to_string(number)),
                   at::linalg_vector_norm(at::stack(values), options_.norm_type), at_each_step);
  if (!options_.per_layer) return;
  for (const auto& [of_parameter, norm] : norms) run.module().log(name + "/" + of_parameter, norm, at_each_step);
}

}  // namespace levin
