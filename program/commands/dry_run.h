#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/device/memory_tracker.h>
#include <levin/data/loader.h>
#include <levin/modules/parallel/ranks/reduction_plan.h>
#include <levin/modules/parallel/sharding/sharding_plan.h>
#include <levin/trainer/fit/assembly.h>
#include <levin/trainer/options/resolved_options.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// The memory that training needs on one device, in bytes.
struct MemoryNeed {
  int64_t parameters = 0, gradients = 0, optimizer_state = 0;
  int64_t whole_units = 0;  ///< under fsdp: the most that is gathered at one time
  int64_t activations = 0;  ///< kept from forward until backward, for the batch that ran
  int64_t backward = 0;     ///< beside these, the most that backward needs; 0 under fsdp

  int64_t sum() const { return parameters + gradients + optimizer_state + whole_units + activations + backward; }
};

/// What a dry run finds out about the real fit.
struct DryRunFindings {
  int64_t train_batches = 0, validation_batches = 0;  ///< run by the dry run
  data::Loaders loaders = {};                         ///< of the real fit
  std::string summary = {};                           ///< the table of the module's layers
  std::map<std::string, MemoryNeed> memory = {};      ///< by device
  int64_t process = 0;                     ///< main memory of the fit's one process, all counted; 0 if unknown
  int64_t batch_size = 0;                  ///< samples in the training batch that ran
  int64_t ranks = 1, nodes = 1;            ///< data-parallel ranks and machines of the real fit
  int64_t tensor_ranks = 1;                ///< processes that are one such rank
  parallel::ReductionPlan reduction = {};  ///< of the real fit's gradients
};

/// Collects the findings while fit runs two batches of each loader. The process's memory is that
/// of the last one, what it consists of that of the first.
class DryRun : public Callback {
 public:
  /// `options`: of the real fit.
  DryRun(std::shared_ptr<DryRunFindings> findings, const ResolvedOptions& options)
      : findings_(std::move(findings)),
        traits_(options.strategy().traits),
        reduction_(reducer_options(strategy_options<DDPOptions>(options->strategy).value_or(DDPOptions()),
                                   traits_.shards_optimizer)),
        sharding_(sharding_options(strategy_options<FSDPOptions>(options->strategy).value_or(FSDPOptions()),
                                   options->mesh.shard)),
        batches_of_step_(options->accumulate_grad_batches),
        is_on_cpu_(options->accelerator == Accelerator::Cpu),
        nodes_(options->num_nodes) {}
  void on_train_start(Run& run) override;
  void on_train_batch_start(Run& run) override;
  void on_before_backward(Run& run, at::Tensor& loss) override;
  void on_after_backward(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_exception(Run& run, const std::exception& error) override;
  void on_validation_batch_end(Run& run) override;

 private:
  parallel::ShardingPlan sharding_plan(Run& run) const;
  void add_weights(Run& run);
  void add_parameters(const torch::nn::Module& module);

  std::shared_ptr<DryRunFindings> findings_;
  StrategyTraits traits_;
  parallel::DistributedDataParallelOptions reduction_;
  parallel::ShardingOptions sharding_;
  int64_t batches_of_step_;
  bool is_on_cpu_;
  int64_t nodes_;
  std::unique_ptr<MemoryTracker> tracker_ = {};
  int64_t state_before_ = 0;  ///< of the optimizers, at the start of the training batch
};

/// Returns the options of the real fit, changed to run two batches of each loader and write nothing.
TrainerOptions dry_run_options(TrainerOptions options);

/// Prints what the fit with these options would do and write. `bandwidths`: of the network between ranks, in Gbit/s;
/// empty: some common values.
void print_dry_run(std::ostream& out, const DryRunFindings& findings, const ResolvedOptions& options,
                   const std::vector<double>& bandwidths = {});

}  // namespace levin::cli
