#pragma once
#include <levin/callbacks/callback.h>
#include <levin/data/loader.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace levin::cli {

/// What a dry run learns of the fit that it stands for.
struct DryRunFindings {
  int64_t train_batches = 0, validation_batches = 0;  ///< that it ran
  data::Loaders loaders = {};                         ///< of the real fit
  std::string summary = {};                           ///< of the module: a table
};

/// Notes them while fit runs one batch of each loader.
class DryRun : public Callback {
 public:
  explicit DryRun(std::shared_ptr<DryRunFindings> findings) : findings_(std::move(findings)) {}
  void on_train_start(Run& run) override;
  void on_train_batch_end(Run& run) override;
  void on_validation_batch_end(Run& run) override;

 private:
  std::shared_ptr<DryRunFindings> findings_;
};

/// The options of the dry run: those of the real one with one batch of each loader, and nothing written.
TrainerOptions dry_run_options(TrainerOptions options);

/// Prints what the fit with these options would do and write.
void print_dry_run(std::ostream& out, const DryRunFindings& findings, const TrainerOptions& options);

}  // namespace levin::cli
