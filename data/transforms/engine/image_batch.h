#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>
#include <levin/data/rng.h>
#include <levin/data/transforms/one_or_more.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Helpers of the image transforms.
namespace levin::data {

/// Returns `input` as contiguous images [samples, channels, height, width] on the CPU: uint8 or floating point. Throws
/// levin::Error that names the transform and the tensor it got.
at::Tensor images_of(const Batch& batch, const char* transform);

/// Returns the same for a random transform; also throws if `rngs` does not have one for each sample.
at::Tensor images_of(const Batch& batch, std::span<const Rng> rngs, const char* transform);

/// Returns one value per channel of the images, from one value for all or one per channel. Throws levin::Error that
/// starts with `option`.
std::vector<double> for_channels(const at::Tensor& images, const OneOrMore<double>& values, const std::string& option);

/// Returns the same for pixel values; also throws if the images are bytes and a value does not fit.
std::vector<double> pixel_for_channels(const at::Tensor& images, const OneOrMore<double>& values,
                                       const std::string& option);

/// Returns a text such as "uint8 [2, 3, 32, 32]".
std::string describe(const at::Tensor& tensor);

/// Returns true with probability `p`; always draws one number.
inline bool flip_coin(Rng& rng, double p) { return rng.uniform() < p; }

}  // namespace levin::data
