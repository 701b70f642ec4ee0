#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>
#include <levin/data/rng.h>
#include <levin/data/transforms/one_or_more.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What transforms of images share.
namespace levin::data {

/// `input` as contiguous images [samples, channels, height, width] on the CPU: uint8 or floating point.
/// Throws levin::Error that names the transform and what came.
at::Tensor images_of(const Batch& batch, const char* transform);

/// The same for a random transform; throws also where `rngs` are not one for each sample.
at::Tensor images_of(const Batch& batch, std::span<const Rng> rngs, const char* transform);

/// The value for each channel of the images: one for all, or as many as there are channels. Throws levin::Error that
/// begins with `option`.
std::vector<double> for_channels(const at::Tensor& images, const OneOrMore<double>& values, const std::string& option);

/// The same for values of pixels; throws also where a byte cannot hold them.
std::vector<double> pixel_for_channels(const at::Tensor& images, const OneOrMore<double>& values,
                                       const std::string& option);

/// "uint8 [2, 3, 32, 32]".
std::string describe(const at::Tensor& tensor);

/// True with probability `p`; draws one number in any case.
inline bool flip_coin(Rng& rng, double p) { return rng.uniform() < p; }

}  // namespace levin::data
