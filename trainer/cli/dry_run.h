#pragma once
#include <levin/callbacks/callback.h>
#include <levin/data/loader.h>
#include <levin/modules/parallel/gradient_reducer.h>
#include <levin/trainer/assembly.h>
#include <levin/trainer/core/memory_tracker.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// What training takes of one device, in bytes.
struct MemoryNeed {
  int64_t parameters = 0, gradients = 0, optimizer_state = 0;
  int64_t activations = 0;  ///< kept from the forward of the batch that ran until its backward
};

/// What a dry run learns of the fit that it stands for.
struct DryRunFindings {
  int64_t train_batches = 0, validation_batches = 0;  ///< that it ran
  data::Loaders loaders = {};                         ///< of the real fit
  std::string summary = {};                           ///< of the module: a table
  std::map<std::string, MemoryNeed> memory = {};      ///< by device
  int64_t batch_size = 0;                             ///< samples of the training batch that ran
  int64_t ranks = 1, nodes = 1;                       ///< of the real fit
  parallel::ReductionPlan reduction = {};             ///< of its gradients
};

/// Notes them while fit runs one batch of each loader.
class DryRun : public Callback {
 public:
  DryRun(std::shared_ptr<DryRunFindings> findings, const TrainerOptions& options)
      : findings_(std::move(findings)),
        reduction_(ddp_options(options)),
        nodes_(options.nb_gpu_nodes.value_or(options.num_nodes)) {}
  void on_train_start(Run& run) override;
  void on_train_batch_start(Run& run) override;
  void on_before_backward(Run& run, at::Tensor& loss) override;
  void on_train_batch_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;
  void on_validation_batch_end(Run& run) override;

 private:
  std::shared_ptr<DryRunFindings> findings_;
  parallel::DistributedDataParallelOptions reduction_;
  int64_t nodes_;
  std::unique_ptr<MemoryTracker> tracker_ = {};
};

/// The options of the dry run: those of the real one with one batch of each loader, and nothing written.
TrainerOptions dry_run_options(TrainerOptions options);

/// Prints what the fit with these options would do and write. `bandwidths`: of networks between its ranks, in Gbit/s;
/// empty: some that are common.
void print_dry_run(std::ostream& out, const DryRunFindings& findings, const TrainerOptions& options,
                   const std::vector<double>& bandwidths = {});

}  // namespace levin::cli
