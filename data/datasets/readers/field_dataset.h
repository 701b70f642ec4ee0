#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/dataset.h>
#include <levin/data/datasets/readers/field_options.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace levin::data {

/// A field whose rows are of different lengths: those of all samples, one after another.
struct VaryingField {
  std::string name = {};
  at::Tensor values = {};          ///< [rows, ...]
  std::vector<int64_t> ends = {};  ///< of each sample, where its rows end in `values`
};

/// Samples that are rows of named arrays, of which some are of different lengths.
///
/// A batch of the latter is [samples, longest, ...]: shorter ones are filled up by the option `pad`. `get` returns a
/// sample as it is. Fields have the types that `dtypes` names.
class FieldDataset final : public Dataset {
 public:
  /// Throws levin::UsageError if the numbers of samples differ, and for options that name fields that there are not, or
  /// that `pad` a field of one length.
  FieldDataset(Batch fixed, std::vector<VaryingField> varying, const FieldOptions& options,
               std::vector<std::string> class_names = {});

  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override;
  /// Throws levin::UsageError if lengths differ and `pad` says nothing, or a value does not fit into its type.
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return class_names_; }

  /// Returns the fields whose rows have one length, as they are before `dtypes`.
  const Batch& tensors() const { return fixed_.tensors(); }
  /// Returns the fields whose rows are of different lengths, likewise.
  const std::vector<VaryingField>& varying() const { return varying_; }
  /// Returns the rows that each sample has in a field. Throws levin::UsageError, which names `option`, for a field that
  /// there is not or that has one length.
  std::vector<int64_t> lengths(const std::string& field, const std::string& option) const;

 private:
  void check_options(const FieldOptions& options) const;
  bool has(const std::string& name) const;
  at::Tensor row(const VaryingField& field, int64_t index) const;
  at::Tensor padded(const VaryingField& field, const Indices& indices, Batch& out) const;
  at::Tensor mask(const Indices& indices, Batch& out) const;
  std::string fields_text() const;

  TensorDataset fixed_;
  std::vector<VaryingField> varying_;
  int64_t size_;
  std::vector<std::string> class_names_;
  std::map<std::string, at::ScalarType> types_;
  std::map<std::string, double> pad_;
  std::string masked_;
};

}  // namespace levin::data
