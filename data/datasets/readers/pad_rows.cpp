#include <levin/data/datasets/readers/pad_rows.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace levin::data {
namespace {

bool is_alike(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.dim() > 0 && a.sizes().slice(1) == b.sizes().slice(1);
}

/// Of integers the filling must be one.
void check_value(double value, at::ScalarType type, const std::string& name) {
  if (!c10::isIntegralType(type, /*includeBool=*/true)) return;
  const at::Tensor held = at::scalar_tensor(value, at::kDouble).to(type);
  if (std::trunc(value) == value && held.to(at::kDouble).item<double>() == value) return;
  throw UsageError("data.pad: ", value, " of '", name, "' is no value of its type, ", type);
}

}  // namespace

at::Tensor pad_rows(const std::vector<at::Tensor>& rows, const std::string& name, std::optional<double> value,
                    Batch& out) {
  const at::Tensor& first = rows.front();
  int64_t longest = 0, shortest = first.dim() > 0 ? first.size(0) : 0;
  for (const at::Tensor& row : rows) {
    if (first.dim() == 0 || !is_alike(row, first))
      throw UsageError("data.pad: '", name, "' is ", first.scalar_type(), " ", first.sizes(), " in one sample and ",
                       row.scalar_type(), " ", row.sizes(),
                       " in another of the same batch; only the length may differ");
    longest = std::max(longest, row.size(0));
    shortest = std::min(shortest, row.size(0));
  }
  if (longest != shortest && !value)
    throw UsageError("data.pad: the rows of '", name, "' have ", shortest, " to ", longest,
                     " values in one batch; name what fills up the shorter ones: {\"", name, "\": 0}");
  at::DimVector sizes(first.sizes());
  sizes[0] = longest;
  sizes.insert(sizes.begin(), static_cast<int64_t>(rows.size()));
  at::Tensor all = out.take_buffer(name, sizes, first.scalar_type());
  if (longest != shortest) {
    check_value(*value, first.scalar_type(), name);
    all.fill_(*value);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    at::Tensor to = all.select(0, static_cast<int64_t>(i)).narrow(0, 0, rows[i].size(0));
    if (rows[i].is_contiguous() && rows[i].numel() > 0)
      std::memcpy(to.mutable_data_ptr(), rows[i].const_data_ptr(), rows[i].nbytes());
    else
      to.copy_(rows[i]);
  }
  return all;
}

at::Tensor mask_of_lengths(const std::vector<int64_t>& lengths, const std::string& name, Batch& out) {
  const int64_t longest = std::ranges::max(lengths);
  at::Tensor mask = out.take_buffer(name, {static_cast<int64_t>(lengths.size()), longest}, at::kLong);
  int64_t* row = mask.mutable_data_ptr<int64_t>();
  for (const int64_t length : lengths) {
    std::fill_n(row, length, 1);
    std::fill_n(row + length, longest - length, 0);
    row += longest;
  }
  return mask;
}

}  // namespace levin::data
