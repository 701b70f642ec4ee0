#include <levin/modules/parallel/sharding/gradient_means.h>

#include <algorithm>

namespace levin::parallel {

GradientMeans::GradientMeans(const std::vector<State>& of_ranks, int64_t world_size) {
  for (const State& of_rank : of_ranks) {
    if (of_rank.is_none()) continue;
    const int64_t ranks = of_rank.at("ranks").to_int();
    if (ranks != world_size) scale_ = static_cast<double>(ranks) / static_cast<double>(world_size);
    for (const auto& [name, part] : of_rank.at("parts").to_dict())
      parts_[to_text(name)].push_back({.begin = part.at("begin").to_int(), .values = part.at("values").to_tensor()});
  }
}

void GradientMeans::copy_to(const std::string& name, int64_t begin, const at::Tensor& values) const {
  const int64_t end = begin + values.numel();
  for (const Part& part : parts_.at(name)) {
    const int64_t first = std::max(begin, part.begin), last = std::min(end, part.begin + part.values.numel());
    if (first < last)
      values.narrow(0, first - begin, last - first).copy_(part.values.narrow(0, first - part.begin, last - first));
  }
  if (scale_ != 1) values.mul_(scale_);
}

State gradient_part(int64_t begin, const at::Tensor& values) {
  return State::dict({{"begin", begin}, {"values", values}});
}

}  // namespace levin::parallel
