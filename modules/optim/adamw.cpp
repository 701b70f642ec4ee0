#include <levin/modules/optim/adamw.h>
#include <levin/modules/optim/adam_step.h>
#include <levin/modules/optim/parameter_groups.h>

namespace levin::optim {
namespace {

void check(const AdamWOptions& options, const std::string& path) {
  if (options.betas.size() != 2) throw UsageError(path, ".betas: expected two numbers, got ", options.betas.size());
  schema_of<AdamWOptions>().check(&options, path);
}

torch::optim::AdamWOptions to_torch(const AdamWOptions& options) {
  check(options, "AdamW");
  return torch::optim::AdamWOptions(options.lr)
      .betas({options.betas[0], options.betas[1]})
      .eps(options.eps)
      .weight_decay(options.weight_decay)
      .amsgrad(options.amsgrad);
}

void check_group(const torch::optim::AdamWOptions& options, const std::string& path) {
  check({.lr = options.lr(),
         .betas = {std::get<0>(options.betas()), std::get<1>(options.betas())},
         .eps = options.eps(),
         .weight_decay = options.weight_decay(),
         .amsgrad = options.amsgrad()},
        path);
}

}  // namespace

AdamW::AdamW(std::vector<at::Tensor> parameters, AdamWOptions options)
    : AdamW(detail::one_group(std::move(parameters)), std::move(options)) {}

AdamW::AdamW(std::vector<torch::optim::OptimizerParamGroup> groups, AdamWOptions options)
    : torch::optim::AdamW(detail::checked_groups<torch::optim::AdamWOptions>("AdamW", groups), to_torch(options)) {
  detail::check_group_options<torch::optim::AdamWOptions>("AdamW", param_groups(), check_group);
}

at::Tensor AdamW::step(LossClosure closure) {
  return detail::adam_step<torch::optim::AdamWParamState, torch::optim::AdamWOptions>(*this, closure,
                                                                                      /*decoupled=*/true);
}

}  // namespace levin::optim
