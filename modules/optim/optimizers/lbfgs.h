#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <torch/optim/lbfgs.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace levin {
namespace optim {

/// How LBFGS finds the length of a step.
enum class LineSearch : uint8_t { StrongWolfe };

}  // namespace optim

template <>
inline constexpr auto kWords<optim::LineSearch> =
    words_of<optim::LineSearch>({{"strong_wolfe", optim::LineSearch::StrongWolfe}});

namespace optim {

/// Arguments of LBFGS, with PyTorch's names and defaults.
struct LBFGSOptions {
  double lr = LEVIN_OPTION(lr, 1, "Learning rate", {.min = 0});
  int64_t max_iter = LEVIN_OPTION(max_iter, 20, "Iterations of one step", {.min = 1});
  std::optional<int64_t> max_eval =
      LEVIN_OPTION(max_eval, {}, "Evaluations of the closure in one step; unset: 1.25 x max_iter", {.min = 1});
  double tolerance_grad = LEVIN_OPTION(tolerance_grad, 1e-7, "End a step at gradients smaller than this", {.min = 0});
  double tolerance_change = LEVIN_OPTION(tolerance_change, 1e-9, "End a step at changes smaller than this", {.min = 0});
  int64_t history_size = LEVIN_OPTION(history_size, 100, "Updates that are remembered", {.min = 1});
  std::optional<Choice<LineSearch>> line_search_fn = LEVIN_OPTION(line_search_fn, {}, "Line search; unset: none");
};

/// LibTorch's L-BFGS with checked options. A step evaluates its closure many times: under the trainer the whole
/// training step runs each time, and accumulate_grad_batches must be 1.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html
class LBFGS : public torch::optim::LBFGS {
 public:
  /// Throws levin::UsageError for bad options, an empty list of parameters or a duplicate parameter.
  explicit LBFGS(std::vector<at::Tensor> parameters, LBFGSOptions options = {});
  /// Takes one group, with its own torch::optim::LBFGSOptions or with `options`. Throws levin::UsageError for more.
  explicit LBFGS(std::vector<torch::optim::OptimizerParamGroup> groups, LBFGSOptions options = {});
};

}  // namespace optim
}  // namespace levin
