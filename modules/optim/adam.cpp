#include <levin/modules/optim/adam.h>
#include <levin/modules/optim/adam_step.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {
namespace {

void check(const AdamOptions& options, const std::string& path) {
  if (options.betas.size() != 2) throw UsageError(path, ".betas: expected two numbers, got ", options.betas.size());
  schema_of<AdamOptions>().check(&options, path);
}

torch::optim::AdamOptions to_torch(const AdamOptions& options) {
  check(options, "Adam");
  return torch::optim::AdamOptions(options.lr)
      .betas({options.betas[0], options.betas[1]})
      .eps(options.eps)
      .weight_decay(options.weight_decay)
      .amsgrad(options.amsgrad);
}

void check_group(const torch::optim::AdamOptions& options, const std::string& path) {
  check({.lr = options.lr(),
         .betas = {std::get<0>(options.betas()), std::get<1>(options.betas())},
         .eps = options.eps(),
         .weight_decay = options.weight_decay(),
         .amsgrad = options.amsgrad()},
        path);
}

}  // namespace

Adam::Adam(std::vector<at::Tensor> parameters, AdamOptions options)
    : Adam(detail::one_group(std::move(parameters)), std::move(options)) {}

Adam::Adam(std::vector<torch::optim::OptimizerParamGroup> groups, AdamOptions options)
    : torch::optim::Adam(detail::checked_groups<torch::optim::AdamOptions>("Adam", groups), to_torch(options)) {
  detail::check_group_options<torch::optim::AdamOptions>("Adam", param_groups(), check_group);
}

at::Tensor Adam::step(LossClosure closure) {
  return detail::adam_step<torch::optim::AdamParamState, torch::optim::AdamOptions>(*this, closure,
                                                                                    /*decoupled=*/false);
}

}  // namespace levin::optim
