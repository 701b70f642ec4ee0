#include <levin/trainer/loops/idle_evaluation.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <utility>

namespace levin {

void run_idle_evaluation(RunContext& run, RankedLoader& loader, Batch absent,
                         const std::function<void(const Batch& batch)>& step) {
  if (absent.empty()) absent = loader.stand_in(run.state.counters.epoch);
  const Batch batch = run.to_device(std::move(absent));
  const bool inference = c10::InferenceMode::is_enabled();
  const c10::InferenceMode normal_tensors(false);  // what is restored afterwards is used in training
  run.parts.strategy.run_idle(run.state.sink.metrics(), [&] {
    const c10::InferenceMode inference_mode(inference);
    const at::NoGradGuard no_grad;
    step(batch);
  });
}

}  // namespace levin
