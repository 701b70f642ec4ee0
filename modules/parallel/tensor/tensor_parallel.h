#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/tensor/partition.h>
#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace levin {
class ProcessGroup;
}

namespace levin::parallel {

/// A group of ranks that hold parts of the same layers and compute the same batch. Null: one process, which holds whole
/// layers.
using TensorGroup = std::shared_ptr<ProcessGroup>;

/// One of a module's own parameters, of which each rank of a tensor group holds a part.
struct DividedParameter {
  std::string name = {};  ///< in its module, without a path
  at::Tensor parameter = {};
  Partition partition = {};
};

/// A module that can be divided among the ranks of a tensor group. The module also derives from this class.
///
///     struct Attention : torch::nn::Module, levin::parallel::TensorParallel { ... };
///
/// A module without divided parameters of its own, such as an attention layer that counts heads, overrides
/// `check_division` alone.
class TensorParallel {
 public:
  /// Throws levin::UsageError if the module cannot be divided among `ranks` ranks.
  virtual void check_division(int64_t ranks) const = 0;
  /// Takes this rank's part of the module's own parameters, of which rank 0 of the group has the values. The parameters
  /// stay the same objects and get another size. Collective: all ranks of the group call it. Throws as check_division,
  /// and if the module is already divided among another number of ranks.
  void divide(const TensorGroup& group);
  /// Gives each rank the whole parameters again. Collective: all ranks of the group call it.
  void join();

  /// Returns the ranks among which the module is divided; null if it is whole.
  const TensorGroup& tensor_group() const { return group_; }
  bool is_divided() const { return group_ != nullptr; }
  /// Returns the module's own parameters that are divided; none if it is whole.
  std::vector<DividedParameter> divided_parameters() const;

 protected:
  TensorParallel() = default;
  ~TensorParallel() = default;
  TensorParallel(const TensorParallel&) = default;
  TensorParallel& operator=(const TensorParallel&) = default;
  /// Returns the module's own parameters that `divide` divides; the ranks of their partitions are not set.
  virtual std::vector<DividedParameter> divisible_parameters() const { return {}; }

 private:
  std::vector<DividedParameter> parameters_on(int64_t rank, int64_t ranks) const;

  TensorGroup group_ = {};
  int64_t rank_ = 0, ranks_ = 1;
};

/// Returns the divided parameters of a module by name; empty if it is whole.
std::map<std::string, Partition> partitions_of(const torch::nn::Module& module);

}  // namespace levin::parallel
