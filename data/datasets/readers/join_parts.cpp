#include <levin/data/datasets/readers/join_parts.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/constant_pad_nd.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/ignored_target.h>
#include <levin/data/loading/indices.h>

#include <algorithm>
#include <string>
#include <utility>

namespace levin::data {
namespace {

std::vector<std::string> names_by_letter(const Batch& batch) {
  std::vector<std::string> names = batch.names();
  std::ranges::sort(names);
  return names;
}

bool is_row_of_tokens(const at::Tensor& tensor) {
  return tensor.dim() == 2 && at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
}

/// Fills up the rows of a field to the longest.
void fill_up(std::vector<BatchOfPart>& parts, const std::string& name) {
  int64_t longest = 0;
  for (const BatchOfPart& part : parts) {
    if (!is_row_of_tokens(part.batch[name])) return;
    longest = std::max(longest, part.batch[name].size(1));
  }
  for (BatchOfPart& part : parts) {
    const at::Tensor& rows = part.batch[name];
    if (rows.size(1) < longest)
      part.batch.set(name,
                     at::constant_pad_nd(rows, {0, longest - rows.size(1)}, name == "target" ? kIgnoredTarget : 0));
  }
}

void check_same(const BatchOfPart& first, const BatchOfPart& other, const std::string& name) {
  const at::Tensor &a = first.batch[name], &b = other.batch[name];
  if (a.scalar_type() == b.scalar_type() && a.sizes().slice(1) == b.sizes().slice(1)) return;
  throw UsageError("Mixture: '", name, "' of a sample is ", a.scalar_type(), " ", a.sizes().slice(1), " in dataset ",
                   first.part, " and ", b.scalar_type(), " ", b.sizes().slice(1), " in dataset ", other.part,
                   "; give the datasets options that make samples of one type and shape");
}

}  // namespace

Batch join_parts(std::vector<BatchOfPart> parts) {
  const Batch& first = parts.front().batch;
  std::vector<Batch> batches;
  for (const BatchOfPart& part : parts) {
    if (first.is_own() || part.batch.is_own())
      throw UsageError("Mixture: dataset ", part.part,
                       " makes batches of its own struct, which a mixture of several datasets cannot join");
    if (names_by_letter(part.batch) != names_by_letter(first))
      throw UsageError("Mixture: samples of dataset ", parts.front().part, " have ", joined(first.names()),
                       ", those of dataset ", part.part, " have ", joined(part.batch.names()));
  }
  for (const std::string& name : first.names()) {
    if (first.is_list(name)) continue;
    if (first.contains("attention_mask")) fill_up(parts, name);
    for (const BatchOfPart& part : parts) check_same(parts.front(), part, name);
  }
  size_t count = 0;
  for (const BatchOfPart& part : parts) count += part.positions.size();
  std::vector<int64_t> from(count);
  int64_t row = 0;
  for (BatchOfPart& part : parts) {
    for (const int64_t position : part.positions) from[static_cast<size_t>(position)] = row++;
    batches.push_back(std::move(part.batch));
  }
  return Batch::gather(batches, at::kCPU).index_select(Indices(std::move(from)).tensor());
}

}  // namespace levin::data
