#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::data {

/// Synthetic digits: strokes in several handwriting styles, bent, sheared, rotated, of varying width and noise.
struct DrawnDigits {
  at::Tensor images = {};  ///< uint8 [count, 28, 28], bright strokes on a dark ground, as in MNIST
  at::Tensor labels = {};  ///< uint8 [count], 0 to 9
};

/// Draws `count` digits. Digit i depends on (seed, split, i) alone; `split` separates training from validation.
DrawnDigits draw_digits(int64_t count, int64_t seed, int64_t split);

}  // namespace levin::data
