#include <levin/modules/images/drop_path.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

namespace levin::nn {

at::Tensor drop_path(const at::Tensor& x, double rate, bool training) {
  if (rate == 0 || !training) return x;
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[0] = x.size(0);
  return x * at::empty(sizes, x.options()).bernoulli_(1 - rate).div_(1 - rate);
}

std::vector<double> drop_path_rates(double last, int64_t blocks) {
  std::vector<double> rates;
  for (int64_t i = 0; i < blocks; ++i)
    rates.push_back(blocks == 1 ? 0 : last * static_cast<double>(i) / static_cast<double>(blocks - 1));
  return rates;
}

}  // namespace levin::nn
