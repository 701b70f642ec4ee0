#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <levin/data/rng.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/file_bytes.h"

namespace levin::testing {

/// Returns a smooth picture with a little noise: uint8 [channels, height, width], different for each seed.
inline at::Tensor picture(int64_t height, int64_t width, uint64_t seed = 0, int64_t channels = 3) {
  at::Tensor image = at::empty({channels, height, width}, at::TensorOptions(at::kByte));
  auto* to = image.mutable_data_ptr<uint8_t>();
  data::Rng rng(seed, 0, 0);
  for (int64_t c = 0; c < channels; ++c) {
    const double across = rng.uniform(0.5, 3), down = rng.uniform(0.5, 3), phase = rng.uniform(0, 6);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const double wave = std::sin(phase + across * 6 * static_cast<double>(x) / static_cast<double>(width) +
                                     down * 6 * static_cast<double>(y) / static_cast<double>(height));
        *to++ = static_cast<uint8_t>(std::clamp(128 + 100 * wave + rng.uniform(-8, 8), 0.0, 255.0));
      }
    }
  }
  return image;
}

/// Returns an image of one colour, [3, height, width].
inline at::Tensor plain(int64_t height, int64_t width, int red, int green, int blue) {
  at::Tensor image = at::empty({3, height, width}, at::TensorOptions(at::kByte));
  const int values[] = {red, green, blue};
  for (int64_t c = 0; c < 3; ++c) image[c].fill_(values[c]);
  return image;
}

}  // namespace levin::testing
