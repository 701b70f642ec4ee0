#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>

namespace levin {

struct ModelSummaryOptions {
  int64_t max_depth = LEVIN_OPTION(max_depth, 1, "Levels of submodules shown; -1: all, 0: only the sums", {.min = -1});
};

/// Prints the layers of the module before training: parameters, trainable parameters, sizes, and output shapes if the
/// module's `example_input` is set (predict_step runs once with it).
///
/// The trainer adds this callback unless `enable_model_summary` is false.
class ModelSummary : public Callback {
 public:
  using Options = ModelSummaryOptions;

  ModelSummary() = default;
  explicit ModelSummary(ModelSummaryOptions options) : options_(options) {}
  void on_fit_start(Run& run) override;

 private:
  ModelSummaryOptions options_ = {};
};

}  // namespace levin
