#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace levin::nn {

/// The keys and values of the tokens that a decoder has seen, so that the next tokens need not compute them again. It
/// belongs to one batch of sequences. Gradients do not flow into it.
class KeyValueCache {
 public:
  /// Returns the number of tokens seen, of each sequence.
  int64_t length() const { return length_; }

  struct KeysValues {
    at::Tensor keys = {}, values = {};  ///< [batch, heads, time, head size]
  };
  /// Adds the new tokens' keys and values of a layer; returns those of all tokens, as views of the cache.
  KeysValues append(size_t layer, const KeysValues& of_new_tokens);
  /// Counts new tokens, after all layers have added theirs.
  void advance(int64_t tokens) { length_ += tokens; }

 private:
  std::vector<KeysValues> layers_ = {};  ///< with room for more tokens
  int64_t length_ = 0;
};

}  // namespace levin::nn
