#include <levin/data/replay/sum_tree.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

namespace levin::data {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

double least(double weight) { return weight > 0 ? weight : kNone; }

}  // namespace

SumTree::SumTree(int64_t size) : size_(size) {
  while (leaves_ < size) leaves_ *= 2;
  sums_.assign(static_cast<size_t>(2 * leaves_), 0);
  least_.assign(static_cast<size_t>(2 * leaves_), kNone);
}

void SumTree::set(int64_t item, double weight) {
  auto node = static_cast<size_t>(leaves_ + item);
  sums_[node] = weight;
  least_[node] = least(weight);
  for (node /= 2; node > 0; node /= 2) {
    sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]);
  }
}

int64_t SumTree::find(double value) const {
  size_t node = 1;
  while (node < static_cast<size_t>(leaves_)) {
    node *= 2;
    if (sums_[node] > 0 && (value < sums_[node] || sums_[node + 1] <= 0)) continue;
    value -= sums_[node];
    ++node;
  }
  return std::min(static_cast<int64_t>(node) - leaves_, size_ - 1);
}

at::Tensor SumTree::weights(int64_t items) const {
  at::Tensor all = at::empty({items}, at::TensorOptions(at::kDouble));
  std::copy_n(sums_.begin() + leaves_, items, all.mutable_data_ptr<double>());
  return all;
}

void SumTree::set_weights(const at::Tensor& weights) {
  const at::Tensor all = weights.contiguous();
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(least_.begin(), least_.end(), kNone);
  std::copy_n(all.const_data_ptr<double>(), all.numel(), sums_.begin() + leaves_);
  std::transform(sums_.begin() + leaves_, sums_.end(), least_.begin() + leaves_, least);
  for (auto node = static_cast<size_t>(leaves_) - 1; node > 0; --node) {
    sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]);
  }
}

}  // namespace levin::data
