#include <levin/trainer/run/training_length.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/gradient_accumulation_scheduler.h>

#include <algorithm>

namespace levin {

BatchesOfStep batches_of_step(int64_t k, const std::vector<CallbackEntry>& callbacks,
                              const std::function<int64_t(int64_t k)>& scale) {
  const auto schedules = callbacks_of<const GradientAccumulationScheduler>(callbacks);
  if (schedules.empty()) return [k](int64_t /*epoch*/) { return k; };
  return [schedule = schedules.back(), scale](int64_t epoch) {
    const int64_t scheduled = schedule->batches_in(epoch);
    return scale ? scale(scheduled) : scheduled;
  };
}

std::optional<int64_t> estimated_steps(const FitLimits& fit, std::optional<int64_t> batches,
                                       const BatchesOfStep& batches_of_step) {
  std::optional<int64_t> steps;
  if (fit.epochs && batches) {
    steps = 0;
    for (int64_t epoch = 0; epoch < *fit.epochs; ++epoch) {
      const int64_t k = batches_of_step(epoch);
      *steps += (*batches + k - 1) / k;
    }
  }
  if (fit.steps) steps = steps ? std::min(*steps, *fit.steps) : *fit.steps;
  return steps;
}

}  // namespace levin
