#pragma once
#include <levin/trainer/core/ranks/comm.h>

namespace levin::parallel {

/// While it lives, batch norms that train in this thread take their statistics over the batches of all ranks, whichever
/// module they are part of: torch::nn::BatchNorm1d to 3d, and torch::batch_norm itself.
///
///     const levin::parallel::SyncBatchNorm synced(ranks);
///     auto output = net(input);
///
/// Python's convert_sync_batchnorm replaces modules, which members of a C++ class do not allow; here the operation is
/// another. All ranks run the same batch norms in the same order, forward and backward. Statistics are kept in float32
/// for smaller floats. Source: torch.nn.SyncBatchNorm.
class SyncBatchNorm {
 public:
  /// `ranks` must outlive the backward of what is computed.
  explicit SyncBatchNorm(Comm& ranks);
  ~SyncBatchNorm();
  SyncBatchNorm(const SyncBatchNorm&) = delete;
  SyncBatchNorm& operator=(const SyncBatchNorm&) = delete;

 private:
  Comm* ranks_before_;
  bool included_before_, excluded_before_;
};

/// While it lives, this thread's batches count for nothing in such statistics: they are run for the sake of other
/// ranks.
class UncountedBatch {
 public:
  UncountedBatch();
  ~UncountedBatch();
  UncountedBatch(const UncountedBatch&) = delete;
  UncountedBatch& operator=(const UncountedBatch&) = delete;
};

}  // namespace levin::parallel
