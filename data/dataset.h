#pragma once
#include <levin/core/run/hiding.h>
#include <levin/data/batch.h>
#include <levin/data/loading/indices.h>
#include <levin/data/rng.h>
#include <levin/data/transforms/transform.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::data {

/// Samples by index. Override `size` and one of `get` and `get_batch`; both are called from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;

  /// Returns one sample: tensors without a sample dimension, which the default get_batch stacks. `rng` depends on
  /// (seed, epoch, index) alone. The default throws levin::Error.
  virtual Batch get(int64_t index, Rng& rng) const;

  /// Fills `out` with the samples of `indices`; faster than `get`, since it needs no tensors for single samples.
  ///
  /// `out` may hold an earlier batch of this dataset: `out.take_buffer(...)` reuses its memory if it has no other
  /// owner. The default calls `get`; an exception from `get` keeps its kind, with the sample's index in front of the
  /// message.
  virtual void get_batch(const Indices& indices, Batch& out) const;

  /// Returns the names of the values of `target`, if these are classes with names.
  virtual std::vector<std::string> class_names() const { return {}; }
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// Returns the samples one by one, from `get`; errors name the sample.
std::vector<Batch> get_samples(const Dataset& dataset, const Indices& indices);

/// Returns a sample by `get_batch`, for datasets whose `get` makes a batch of one.
Batch sample_of_batch(const Dataset& dataset, int64_t index);

/// Takes any dataset by value or by pointer.
struct DatasetRef {
  template <std::derived_from<Dataset> D>
  DatasetRef(D dataset) : pointer(std::make_shared<const D>(std::move(dataset))) {
    refuse_hiding<D>();
  }
  template <std::derived_from<Dataset> D>
  DatasetRef(std::shared_ptr<D> dataset) : pointer(std::move(dataset)) {
    refuse_hiding<std::remove_const_t<D>>();
  }

  DatasetPtr pointer;

 private:
  template <class D>
  static void refuse_hiding() {
    LEVIN_REFUSE_HIDING(D, Dataset, get, "Batch get(int64_t index, Rng& rng) const");
    LEVIN_REFUSE_HIDING(D, Dataset, get_batch, "void get_batch(const Indices& indices, Batch& out) const");
    LEVIN_REFUSE_HIDING(D, Dataset, class_names, "std::vector<std::string> class_names() const");
  }
};

/// Samples that are rows of tensors in memory; a batch copies its rows.
class TensorDataset final : public Dataset {
 public:
  /// `input` [samples, ...] and `target` [samples, ...]. Throws levin::UsageError if the counts differ.
  explicit TensorDataset(at::Tensor input, at::Tensor target = {})
      : TensorDataset(Batch(std::move(input), std::move(target))) {}
  /// Holds any named tensors, each [samples, ...].
  explicit TensorDataset(Batch tensors, std::vector<std::string> class_names = {});

  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override;
  /// The batch is a copy: changing it in place leaves the dataset as it is.
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return class_names_; }

  /// Returns all samples.
  const Batch& tensors() const { return tensors_; }

 private:
  Batch tensors_;
  std::vector<std::string> names_;
  bool is_pair_;  ///< the names are input and target
  int64_t size_;
  std::vector<std::string> class_names_;
};

/// The samples of another dataset at `indices`, in that order. Random transforms see the other dataset's index.
class Subset final : public Dataset {
 public:
  /// Throws levin::UsageError for an index outside the dataset.
  Subset(DatasetRef dataset, std::vector<int64_t> indices);
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }
  const std::vector<int64_t>& indices() const { return indices_; }

 private:
  DatasetPtr dataset_;
  std::vector<int64_t> indices_;
};

/// Several datasets in sequence.
class ConcatDataset final : public Dataset {
 public:
  /// Throws levin::UsageError for an empty list.
  explicit ConcatDataset(std::vector<DatasetRef> datasets);
  int64_t size() const override { return ends_.back(); }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return datasets_.front()->class_names(); }

 private:
  struct Place {
    size_t dataset;
    int64_t index;
  };
  Place place(int64_t index) const;

  std::vector<DatasetPtr> datasets_ = {};
  std::vector<int64_t> ends_ = {};
};

/// Another dataset whose batches are changed by a transform.
class TransformedDataset final : public Dataset {
 public:
  TransformedDataset(DatasetRef dataset, TransformPtr transform);
  int64_t size() const override { return dataset_->size(); }
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }

 private:
  DatasetPtr dataset_;
  TransformPtr transform_;
};

/// Splits a dataset at random into parts of these sizes or, if `lengths` add up to 1, of these fractions. Samples left
/// over by rounding go to the first parts, one each. The split depends on `seed` alone. Throws levin::UsageError if
/// sizes do not add up to the dataset's size. Source: torch.utils.data.random_split.
std::vector<Subset> random_split(DatasetRef dataset, const std::vector<double>& lengths, int64_t seed = 0);

}  // namespace levin::data
