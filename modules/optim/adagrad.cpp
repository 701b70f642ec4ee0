#include <levin/modules/optim/adagrad.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {
namespace {

void check(const AdagradOptions& options, const std::string& path) {
  schema_of<AdagradOptions>().check(&options, path);
}

torch::optim::AdagradOptions to_torch(const AdagradOptions& options) {
  check(options, "Adagrad");
  return torch::optim::AdagradOptions(options.lr)
      .lr_decay(options.lr_decay)
      .weight_decay(options.weight_decay)
      .initial_accumulator_value(options.initial_accumulator_value)
      .eps(options.eps);
}

void check_group(const torch::optim::AdagradOptions& options, const std::string& path) {
  check({.lr = options.lr(),
         .lr_decay = options.lr_decay(),
         .weight_decay = options.weight_decay(),
         .initial_accumulator_value = options.initial_accumulator_value(),
         .eps = options.eps()},
        path);
}

}  // namespace

Adagrad::Adagrad(std::vector<at::Tensor> parameters, AdagradOptions options)
    : Adagrad(detail::one_group(std::move(parameters)), options) {}

Adagrad::Adagrad(std::vector<torch::optim::OptimizerParamGroup> groups, AdagradOptions options)
    : torch::optim::Adagrad(detail::checked_groups<torch::optim::AdagradOptions>("Adagrad", groups),
                            to_torch(options)) {
  detail::check_group_options<torch::optim::AdagradOptions>("Adagrad", param_groups(), check_group);
}

}  // namespace levin::optim
