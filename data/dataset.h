#pragma once
#include <levin/data/batch.h>
#include <levin/data/indices.h>
#include <levin/data/rng.h>

#include <cstdint>

namespace levin::data {

/// Samples by index. Override `size` and one of `get` and `get_batch`; both are called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;

  /// One sample: tensors without a sample dimension, which the default get_batch stacks. `rng` depends on (seed, epoch,
  /// index) alone. The default throws levin::Error.
  virtual Batch get(int64_t index, Rng& rng) const;

  /// Fills `out` with the samples of `indices`; the fast way, without tensors for single samples.
  ///
  /// `out` may hold an earlier batch of this dataset, whose storage can be used again where nobody else holds it.
  virtual void get_batch(const Indices& indices, Batch& out) const;
};

/// Samples that are the rows of tensors in memory; a batch is one index_select of each.
class TensorDataset final : public Dataset {
 public:
  /// `input` [samples, ...] and `target` [samples, ...]. Throws levin::UsageError where the counts differ.
  explicit TensorDataset(at::Tensor input, at::Tensor target = {})
      : TensorDataset(Batch(std::move(input), std::move(target))) {}
  /// Any named tensors.
  explicit TensorDataset(Batch tensors);

  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override;
  /// The batch is a copy: changing it in place leaves the dataset as it is.
  void get_batch(const Indices& indices, Batch& out) const override;

 private:
  Batch tensors_;
  int64_t size_;
};

}  // namespace levin::data
