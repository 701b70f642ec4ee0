#include <levin/modules/parallel/tensor/vocabulary_range.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_assert_async.h>
#include <levin/core/system/error.h>

namespace levin::parallel {

OwnTokens own_tokens(const at::Tensor& tokens, const Partition& rows) {
  const at::Tensor places = tokens.to(at::kLong) - rows.begin();
  const at::Tensor others = (places < 0).logical_or_(places >= rows.size_of_part());
  return {.places = places.masked_fill(others, 0), .others = others};
}

void check_in_vocabulary(const at::Tensor& tokens, int64_t size, const char* what, int64_t ignored) {
  if (tokens.numel() == 0) return;
  const at::Tensor outside = (tokens < 0).logical_or_(tokens >= size).logical_and_(tokens != ignored);
  if (!tokens.is_cpu()) {
    at::_assert_async(outside.any().logical_not());
    return;
  }
  if (!outside.any().item<bool>()) return;
  throw UsageError(what, " ", tokens.masked_select(outside)[0].item<int64_t>(), " is not in the vocabulary, 0 to ",
                   size - 1);
}

}  // namespace levin::parallel
