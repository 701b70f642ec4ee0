#include <levin/modules/transformers/padded_batch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <string>

namespace levin::nn {
namespace {

/// Returns whether `mask` [..., time] says that all padding comes behind the tokens.
bool is_padded_at_end(const at::Tensor& mask) {
  if (!mask.is_cpu() || mask.dim() < 2) return false;
  const int64_t time = mask.size(-1);
  return time < 2 || mask.narrow(-1, 1, time - 1).le(mask.narrow(-1, 0, time - 1)).all().item<bool>();
}

}  // namespace

Batch without_end_mask(const Batch& batch) {
  if (batch.is_own() || !batch.contains(kMask) || batch.is_list(kMask) || !is_padded_at_end(batch[kMask])) return batch;
  Batch kept;
  for (const std::string& name : batch.names()) {
    if (batch.is_list(name)) return batch;
    if (name != kMask) kept.set(name, batch[name]);
  }
  kept.set(kLengths, batch[kMask].sum(-1));
  return kept;
}

at::Tensor last_places(const Batch& batch) {
  if (batch.contains(kLengths)) return (batch[kLengths] - 1).clamp_min(0);
  if (!batch.contains(kMask)) return {};
  const at::Tensor mask = batch[kMask].ne(0);
  return at::arange(mask.size(1), mask.options().dtype(at::kLong)).mul(mask).amax(1);
}

}  // namespace levin::nn
