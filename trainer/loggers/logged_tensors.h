#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace levin {

/// Throws UsageError unless `image` can be logged: [height, width] or [1 or 3, height, width], not empty, uint8, bool
/// or floating point. `name` is used in the message.
void check_image(const std::string& name, const at::Tensor& image);
/// Returns such an image as uint8 [1 or 3, height, width], contiguous, on the CPU. Floating-point values are multiplied
/// by 255 and clamped; NaN is black. Throws UsageError like check_image.
at::Tensor image_bytes(const std::string& name, const at::Tensor& image);

/// Throws UsageError unless the elements of `values` are real numbers.
void check_histogram(const std::string& name, const at::Tensor& values);

/// The distribution of the finite elements of a tensor.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits = {};  ///< upper limits of the buckets, which are exclusive but for the last one
  std::vector<double> counts = {};  ///< as many
  double count() const;
};

/// Counts the elements in TensorBoard's buckets, whose limits grow by 10 % from 1e-12 to 1e20 on both sides of 0. Empty
/// buckets at both ends are left out. Returns no buckets if no element is finite. Host sync.
Histogram histogram_of(const at::Tensor& values);

}  // namespace levin
