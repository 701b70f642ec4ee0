#include <levin/modules/optim/sgd.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {
namespace {

void check(const SGDOptions& options, const std::string& path) {
  schema_of<SGDOptions>().check(&options, path);
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
    throw UsageError(path, ".nesterov: needs a momentum above 0 and no dampening, got momentum ", options.momentum,
                     " and dampening ", options.dampening);
}

torch::optim::SGDOptions to_torch(const SGDOptions& options) {
  check(options, "SGD");
  return torch::optim::SGDOptions(options.lr)
      .momentum(options.momentum)
      .dampening(options.dampening)
      .weight_decay(options.weight_decay)
      .nesterov(options.nesterov);
}

void check_group(const torch::optim::SGDOptions& options, const std::string& path) {
  check({.lr = options.lr(),
         .momentum = options.momentum(),
         .dampening = options.dampening(),
         .weight_decay = options.weight_decay(),
         .nesterov = options.nesterov()},
        path);
}

}  // namespace

SGD::SGD(std::vector<at::Tensor> parameters, SGDOptions options)
    : SGD(detail::one_group(std::move(parameters)), options) {}

SGD::SGD(std::vector<torch::optim::OptimizerParamGroup> groups, SGDOptions options)
    : torch::optim::SGD(detail::checked_groups<torch::optim::SGDOptions>("SGD", groups), to_torch(options)) {
  detail::check_group_options<torch::optim::SGDOptions>("SGD", param_groups(), check_group);
}

}  // namespace levin::optim
