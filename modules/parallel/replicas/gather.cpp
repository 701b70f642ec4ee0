#include <levin/modules/parallel/replicas/gather.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <levin/modules/parallel/replicas/move_flat.h>

#include <algorithm>
#include <numeric>

namespace levin::parallel {

at::Tensor gather(const std::vector<at::Tensor>& parts, c10::Device device, int64_t dim) {
  if (parts.empty()) throw Error("gather: there are no parts");
  std::vector<at::Tensor> moved;
  for (const at::Tensor& part : parts) {
    if (part.defined() != parts.front().defined()) throw Error("gather: some replicas returned a tensor, some none");
    if (part.defined()) moved.push_back(move_to(part, device));
  }
  if (moved.empty()) return {};
  const auto is_scalar = [](const at::Tensor& part) { return part.dim() == 0; };
  if (std::ranges::all_of(moved, is_scalar)) return at::stack(moved);
  for (const at::Tensor& part : moved) {
    bool fits = part.dim() == moved.front().dim() && dim >= 0 && dim < part.dim();
    for (int64_t d = 0; fits && d < part.dim(); ++d) fits = d == dim || part.size(d) == moved.front().size(d);
    if (!fits)
      throw Error("gather: tensors of the shapes ", moved.front().sizes(), " and ", part.sizes(),
                  " cannot be put together along dim ", dim);
  }
  return at::cat(moved, dim);
}

Batch gather(const std::vector<Batch>& parts, c10::Device device, int64_t dim) {
  if (parts.empty()) throw Error("gather: there are no parts");
  if (parts.front().is_own()) return Batch::gather(parts, device);
  for (const Batch& part : parts)
    if (part.names() != parts.front().names()) throw Error("gather: the replicas' batches hold different names");
  std::vector<Batch::Item> items;
  for (const std::string& name : parts.front().names()) {
    const auto column = [&](const auto& get) {
      std::vector<std::remove_cvref_t<decltype(get(parts.front()))>> values;
      for (const Batch& part : parts) values.push_back(get(part));
      return values;
    };
    if (!parts.front().is_list(name)) {
      items.emplace_back(name, gather(column([&](const Batch& part) { return part[name]; }), device, dim));
      continue;
    }
    Batch::List all;
    for (const Batch::List& list : column([&](const Batch& part) { return part.list(name); }))
      for (const Batch& item : list) all.push_back(item.to(device, /*non_blocking=*/!device.is_cpu()));
    items.emplace_back(name, std::move(all));
  }
  return Batch(std::move(items));
}

at::Tensor weighted_mean(const at::Tensor& losses, const std::vector<int64_t>& counts) {
  if (losses.dim() == 0) return losses;
  if (losses.dim() != 1 || losses.size(0) != static_cast<int64_t>(counts.size()))
    throw Error("weighted_mean: losses of the shape ", losses.sizes(), " for ", counts.size(), " counts");
  const auto sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  if (sum <= 0) throw Error("weighted_mean: the counts sum to ", sum);
  at::Tensor mean;
  for (size_t i = 0; i < counts.size(); ++i) {
    // Plain numbers as weights need no copy to the device.
    const at::Tensor share = losses[static_cast<int64_t>(i)] * (static_cast<double>(counts[i]) / sum);
    mean = mean.defined() ? mean + share : share;
  }
  return mean;
}

}  // namespace levin::parallel
