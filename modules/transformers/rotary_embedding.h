#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/transformers/rope_config.h>

#include <cstdint>

namespace levin::nn {

/// The angles of positions: cosines and sines [batch or 1, 1, time, dims], each angle twice.
struct RotaryAngles {
  at::Tensor cosines = {}, sines = {};
};

/// Returns the frequencies [dims / 2], float32, on the CPU, for sequences of `length` tokens. Only RopeScaling::Dynamic
/// and LongRope depend on the length. Source: transformers 5.24, modeling_rope_utils.py.
at::Tensor rope_frequencies(const RopeConfig& rope, int64_t length);
/// Returns whether the frequencies depend on the length.
bool depends_on_length(const RopeConfig& rope);

/// Rotary position embeddings. The angles are computed in float32. Holds the frequencies on the last device used.
class RotaryEmbedding {
 public:
  explicit RotaryEmbedding(RopeConfig rope);
  /// Returns the angles of `positions` [batch or 1, time], int64, in `dtype`; `length`: the largest position and 1.
  RotaryAngles angles(const at::Tensor& positions, int64_t length, at::ScalarType dtype);
  const RopeConfig& rope() const { return rope_; }

 private:
  const at::Tensor& frequencies(int64_t length, c10::Device device);

  RopeConfig rope_;
  at::Tensor frequencies_ = {};
  int64_t length_ = 0;  ///< that `frequencies_` are for
};

/// Rotates the first numbers of each head of `x` [batch, heads, time, head size], as many as there are angles.
at::Tensor rotated_by(const at::Tensor& x, const RotaryAngles& angles);

}  // namespace levin::nn
