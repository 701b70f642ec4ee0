#include <levin/modules/optim/rmsprop.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {
namespace {

void check(const RMSpropOptions& options, const std::string& path) {
  schema_of<RMSpropOptions>().check(&options, path);
}

torch::optim::RMSpropOptions to_torch(const RMSpropOptions& options) {
  check(options, "RMSprop");
  return torch::optim::RMSpropOptions(options.lr)
      .alpha(options.alpha)
      .eps(options.eps)
      .weight_decay(options.weight_decay)
      .momentum(options.momentum)
      .centered(options.centered);
}

void check_group(const torch::optim::RMSpropOptions& options, const std::string& path) {
  check({.lr = options.lr(),
         .alpha = options.alpha(),
         .eps = options.eps(),
         .weight_decay = options.weight_decay(),
         .momentum = options.momentum(),
         .centered = options.centered()},
        path);
}

}  // namespace

RMSprop::RMSprop(std::vector<at::Tensor> parameters, RMSpropOptions options)
    : RMSprop(detail::one_group(std::move(parameters)), options) {}

RMSprop::RMSprop(std::vector<torch::optim::OptimizerParamGroup> groups, RMSpropOptions options)
    : torch::optim::RMSprop(detail::checked_groups<torch::optim::RMSpropOptions>("RMSprop", groups),
                            to_torch(options)) {
  detail::check_group_options<torch::optim::RMSpropOptions>("RMSprop", param_groups(), check_group);
}

}  // namespace levin::optim
