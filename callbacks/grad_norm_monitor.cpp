#include <levin/callbacks/grad_norm_monitor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/parameter_names.h>
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
  std::vector<at::Tensor> gradients;
  std::vector<const at::TensorImpl*> parameters;
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) continue;
      gradients.push_back(gradient.is_sparse() ? gradient.coalesce()._values() : gradient);
      parameters.push_back(parameter.unsafeGetTensorImpl());
    }
  if (gradients.empty()) return;
  const std::vector<at::Tensor> norms = at::_foreach_norm(gradients, options_.norm_type);
  const std::string name = "grad_" + name_of_order(options_.norm_type) + "_norm";
  size_t number = 0;
  while (number < run.optimizers().size() && run.optimizers()[number].get() != &optimizer) ++number;
  const LogOptions at_each_step{.on_step = true, .on_epoch = false};
  run.module().log(name + "_total" + (number == 0 ? "" : "/" + std::to_string(number)),
                   at::linalg_vector_norm(at::stack(norms), options_.norm_type), at_each_step);
  if (!options_.per_layer) return;
  auto names = names_of_parameters(run.module());
  for (size_t i = 0; i < norms.size(); ++i) run.module().log(name + "/" + names[parameters[i]], norms[i], at_each_step);
}

}  // namespace levin
