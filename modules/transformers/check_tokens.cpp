#include <levin/modules/transformers/check_tokens.h>
#include <ATen/ops/aminmax.h>
#include <levin/core/system/error.h>
#include <levin/modules/recording/is_recording.h>

#include <tuple>

namespace levin::nn {

bool is_whole_numbers(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt;
}

void check_value_range(const char* module, const at::Tensor& values, int64_t limit, const char* what,
                       const char* of_what) {
  if (!values.is_cpu() || values.numel() == 0 || recording::is_recording()) return;
  const auto [lowest, highest] = at::aminmax(values);
  const int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low >= 0 && high < limit) return;
  throw UsageError(module, ": ", what, " ", low < 0 ? low : high, " is not in ", of_what, ", 0 to ", limit - 1);
}

}  // namespace levin::nn
