#include <levin/callbacks/model_summary.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/console.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/summary.h>

namespace levin {

void ModelSummary::on_fit_start(Run& run) {
  if (!run.comm().is_global_zero()) return;
  LightningModule& module = run.module();
  std::function<void()> forward;
  const RngGuard generator_as_before;
  if (!module.example_input.empty()) forward = [&] { module.predict_step(module.example_input.to(run.device()), 0); };
  console::info("the module's layers:\n" + summarize(module, options_.max_depth, forward).to_text());
}

}  // namespace levin
