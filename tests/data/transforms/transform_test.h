#pragma once
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/stack.h>
#include <levin/data/transforms/transform.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace levin::data {

/// Returns the random numbers of these samples, as a loader makes them.
inline std::vector<Rng> rngs_of(const std::vector<int64_t>& indices, int64_t epoch = 0, uint64_t seed = 5) {
  std::vector<Rng> rngs;
  for (const int64_t index : indices) rngs.emplace_back(seed, epoch, index);
  return rngs;
}

inline std::vector<int64_t> first_indices(int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// Returns uint8 images without a pattern that a transform could preserve by chance.
inline at::Tensor test_images(at::IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const at::Tensor i = at::arange(count, at::TensorOptions(at::kLong));
  return i.mul(37).add(i.mul(i).remainder(101).mul(13)).remainder(256).to(at::kByte).view(sizes);
}

inline at::Tensor float_images(at::IntArrayRef sizes) { return test_images(sizes).to(at::kFloat).div(255); }

/// Returns the result of the transform on the samples with these indices; `images` [samples, ...] is not changed.
inline at::Tensor applied(const Transform& transform, const at::Tensor& images, const std::vector<int64_t>& indices,
                          int64_t epoch = 0) {
  Batch batch(images.clone());
  std::vector<Rng> rngs = rngs_of(indices, epoch);
  transform(batch, rngs);
  return batch.input();
}

inline at::Tensor applied(const Transform& transform, const at::Tensor& images) {
  return applied(transform, images, first_indices(images.size(0)));
}

/// Returns whether a sample's result is bitwise the same alone and in batches of any composition, and whether another
/// epoch gives another result. Images [n, ...] with n > 4 are the samples 0 to n - 1.
inline bool depends_on_sample_alone(const Transform& transform, const at::Tensor& images) {
  const int64_t count = images.size(0);
  const at::Tensor all = applied(transform, images);
  bool same = true;
  for (int64_t i = 0; i < count; ++i)
    same = same && at::equal(applied(transform, images.narrow(0, i, 1), {i})[0], all[i]);
  const at::Tensor some = at::stack({images[4], images[0], images[3]});
  same = same && at::equal(applied(transform, some, {4, 0, 3}), at::stack({all[4], all[0], all[3]}));
  return same && !at::equal(applied(transform, images, first_indices(count), 1), all);
}

}  // namespace levin::data
