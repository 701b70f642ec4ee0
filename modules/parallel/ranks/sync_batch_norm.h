#pragma once
#include <levin/core/ranks/comm.h>
#include <torch/csrc/autograd/function.h>

#include <vector>

namespace levin::parallel {

/// While it lives, every batch norm in training mode in this thread computes its statistics over the batches of all
/// ranks: torch::nn::BatchNorm1d to 3d in any module, and torch::batch_norm itself.
///
///     const levin::parallel::SyncBatchNorm synced(ranks);
///     auto output = net(input);
///
/// Python's convert_sync_batchnorm replaces modules, which members of a C++ class do not allow; this class replaces the
/// operation instead. All ranks must run the same batch norms in the same order, forward and backward. Statistics of
/// smaller float types are float32. Source: torch.nn.SyncBatchNorm.
class SyncBatchNorm {
 public:
  /// `ranks` must outlive the backward of the results. `results`: where the places of results in the graph are added;
  /// null: nowhere. A rank without a loss takes part in the others' backward by backward_of_zeros from there.
  explicit SyncBatchNorm(Comm& ranks, std::vector<torch::autograd::Edge>* results = nullptr);
  ~SyncBatchNorm();
  SyncBatchNorm(const SyncBatchNorm&) = delete;
  SyncBatchNorm& operator=(const SyncBatchNorm&) = delete;

 private:
  Comm* ranks_before_;
  std::vector<torch::autograd::Edge>* results_before_;
  bool included_before_, excluded_before_;
};

/// While it lives, this thread's batches do not count in the statistics of SyncBatchNorm: they run only so that this
/// rank takes part in the collectives.
class UncountedBatch {
 public:
  UncountedBatch();
  ~UncountedBatch();
  UncountedBatch(const UncountedBatch&) = delete;
  UncountedBatch& operator=(const UncountedBatch&) = delete;
};

}  // namespace levin::parallel
