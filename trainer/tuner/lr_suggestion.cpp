#include <levin/trainer/tuner/lr_suggestion.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/gradient.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

namespace levin {

double SmoothedLoss::add(double loss) {
  mean_ = beta_ * mean_ + (1 - beta_) * loss;
  steps_ += 1;
  return mean_ / (1 - std::pow(beta_, static_cast<double>(steps_ + 1)));
}

std::optional<size_t> steepest_descent(const std::vector<double>& lrs, const std::vector<double>& losses,
                                       int64_t skip_begin, int64_t skip_end) {
  const int64_t end = static_cast<int64_t>(std::min(lrs.size(), losses.size())) - skip_end;
  std::vector<float> rates, values;
  std::vector<size_t> index;
  for (int64_t i = skip_begin; i < end; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!std::isfinite(losses[at])) continue;
    rates.push_back(static_cast<float>(lrs[at]));
    values.push_back(static_cast<float>(losses[at]));
    index.push_back(at);
  }
  if (index.size() < 2) return {};
  const std::vector<at::Tensor> spacing = {at::tensor(rates)};
  const at::Tensor slopes = at::gradient(at::tensor(values), spacing).front();
  return index[static_cast<size_t>(slopes.argmin().item<int64_t>())];
}

}  // namespace levin
