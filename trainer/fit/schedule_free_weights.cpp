#include <levin/trainer/fit/schedule_free_weights.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/optimizers/schedule_free_adamw.h>
#include <levin/modules/parallel/ranks/sharded_optimizer.h>
#include <levin/modules/weights.h>
#include <levin/trainer/options/optimizer_check.h>

#include <algorithm>
#include <vector>

namespace levin {
namespace {

constexpr const char* kTrained = "current_model_state";
constexpr const char* kWeights = "state_dict";
constexpr const char* kAveraging = "schedule_free";
constexpr const char* kUsesAverages = "uses_averages";

std::vector<optim::ScheduleFreeAdamW*> schedule_free(Run& run) {
  std::vector<optim::ScheduleFreeAdamW*> found;
  for (const auto& optimizer : run.optimizers())
    if (auto* const one = dynamic_cast<optim::ScheduleFreeAdamW*>(optimizer.get())) found.push_back(one);
  return found;
}

void use_averages(Run& run, bool averages) {
  for (optim::ScheduleFreeAdamW* const one : schedule_free(run)) {
    averages ? one->use_averages() : one->use_trained();
    if (const auto* const divided = parallel::ShardedOptimizer::of(*one)) divided->gather_parts();
  }
}

bool is_divided(Run& run) {
  return std::ranges::any_of(schedule_free(run), [](const optim::ScheduleFreeAdamW* one) {
    return parallel::ShardedOptimizer::of(*one) != nullptr;
  });
}

}  // namespace

void ScheduleFreeWeights::on_load_checkpoint(Run& run, const State& checkpoint) {
  trained_ = {};
  const State* const averaging = checkpoint.find(kAveraging);
  if (!run.fitting() || averaging == nullptr) return;
  trained_ = checkpoint.at(kTrained);
  uses_averages_ = averaging->at(kUsesAverages).to_bool();
}

void ScheduleFreeWeights::on_fit_start(Run& run) {
  const auto optimizers = schedule_free(run);
  for (const optim::ScheduleFreeAdamW* const one : optimizers)
    check_averages(*one, run.callbacks());  // also the module's
  if (trained_.is_none()) {
    uses_averages_ = false;
    return;
  }
  if (!optimizers.empty()) load_module_state_dict(run.module(), trained_);
  trained_ = {};
  if (uses_averages_) use_averages(run, true);
}

void ScheduleFreeWeights::on_validation_epoch_start(Run& run) {
  if (!run.fitting()) return;
  use_averages(run, true);
  uses_averages_ = true;
}

void ScheduleFreeWeights::on_validation_epoch_end(Run& run) {
  use_averages(run, false);
  uses_averages_ = false;
}

void ScheduleFreeWeights::on_fit_end(Run& run) {
  use_averages(run, true);
  uses_averages_ = false;
}

void ScheduleFreeWeights::on_exception(Run& run, const std::exception& /*error*/) {
  if (is_divided(run)) return;  // the other ranks may be elsewhere, and would not gather the parts
  use_averages(run, false);
  uses_averages_ = false;
}

void ScheduleFreeWeights::on_save_checkpoint(Run& run, State& checkpoint) {
  if (schedule_free(run).empty()) return;
  const State present = checkpoint.at(kWeights);
  use_averages(run, !uses_averages_);
  const State other = run.weights();
  use_averages(run, uses_averages_);
  checkpoint[kTrained] = uses_averages_ ? other : present;
  checkpoint[kWeights] = uses_averages_ ? present : other;
  checkpoint[kAveraging] = State::dict({{kUsesAverages, uses_averages_}});
}

}  // namespace levin
