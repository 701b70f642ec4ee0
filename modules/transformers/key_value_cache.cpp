#include <levin/modules/transformers/key_value_cache.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin::nn {
namespace {

constexpr int64_t kLeastRoom = 64;

/// Returns a tensor like `buffer` with room for at least `needed` tokens, of which the first `used` are copied.
at::Tensor with_room(const at::Tensor& buffer, const at::Tensor& like, int64_t used, int64_t needed) {
  if (buffer.defined() && buffer.size(2) >= needed) return buffer;
  const int64_t room = std::max({needed, 2 * used, kLeastRoom});
  at::Tensor larger = at::empty({like.size(0), like.size(1), room, like.size(3)}, like.options());
  if (used > 0) larger.narrow(2, 0, used).copy_(buffer.narrow(2, 0, used));
  return larger;
}

at::Tensor appended(at::Tensor& buffer, const at::Tensor& added, int64_t used) {
  const int64_t all = used + added.size(2);
  buffer = with_room(buffer, added, used, all);
  buffer.narrow(2, used, added.size(2)).copy_(added);
  return buffer.narrow(2, 0, all);
}

}  // namespace

KeyValueCache::KeysValues KeyValueCache::append(size_t layer, const KeysValues& of_new_tokens) {
  if (layers_.size() <= layer) layers_.resize(layer + 1);
  KeysValues& own = layers_[layer];
  if (own.keys.defined() && own.keys.size(0) != of_new_tokens.keys.size(0))
    throw UsageError("KeyValueCache: holds ", own.keys.size(0), " sequences, ", of_new_tokens.keys.size(0),
                     " came; use a new cache for another batch");
  return {.keys = appended(own.keys, of_new_tokens.keys.detach(), length_),
          .values = appended(own.values, of_new_tokens.values.detach(), length_)};
}

}  // namespace levin::nn
