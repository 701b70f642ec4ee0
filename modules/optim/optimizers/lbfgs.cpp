#include <levin/modules/optim/optimizers/lbfgs.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/parameter_groups.h>

namespace levin::optim {
namespace {

torch::optim::LBFGSOptions to_torch(const LBFGSOptions& options) {
  schema_of<LBFGSOptions>().check(&options, "LBFGS");
  std::optional<std::string> line_search;
  if (options.line_search_fn) line_search = options.line_search_fn->word();
  return torch::optim::LBFGSOptions(options.lr)
      .max_iter(options.max_iter)
      .max_eval(options.max_eval.value_or(options.max_iter * 5 / 4))
      .tolerance_grad(options.tolerance_grad)
      .tolerance_change(options.tolerance_change)
      .history_size(options.history_size)
      .line_search_fn(std::move(line_search));
}

const std::vector<torch::optim::OptimizerParamGroup>& one_only(
    const std::vector<torch::optim::OptimizerParamGroup>& groups) {
  if (groups.size() != 1) throw UsageError("LBFGS: expected one parameter group, got ", groups.size());
  for (const at::Tensor& parameter : groups.front().params()) {
    if (!parameter.defined()) continue;
    if (parameter.is_complex())
      throw UsageError(
          "LBFGS does not take complex parameters; register them as real ones (torch::view_as_real), or "
          "use another optimizer");
    if (!parameter.is_contiguous())
      throw UsageError("LBFGS looks at all parameters as one vector, and one of shape ", parameter.sizes(),
                       " has the strides ", parameter.strides(), "; register it contiguous, or use another optimizer");
  }
  return groups;
}

}  // namespace

LBFGS::LBFGS(std::vector<at::Tensor> parameters, LBFGSOptions options)
    : LBFGS(detail::one_group(std::move(parameters)), std::move(options)) {}

LBFGS::LBFGS(std::vector<torch::optim::OptimizerParamGroup> groups, LBFGSOptions options)
    : torch::optim::LBFGS(detail::checked_groups<torch::optim::LBFGSOptions>("LBFGS", one_only(groups)),
                          to_torch(options)) {}

}  // namespace levin::optim
