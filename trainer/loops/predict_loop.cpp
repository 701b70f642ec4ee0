#include <levin/trainer/loops/predict_loop.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <levin/trainer/loops/idle_evaluation.h>
#include <levin/trainer/loops/modes_restored.h>
#include <levin/trainer/loops/ranked_loader.h>

#include <optional>
#include <utility>
#include <vector>

namespace levin {
namespace {

Batch run_step(RunContext& run, const Batch& batch, int64_t batch_idx) {
  Batch prediction;
  run.parts.precision.forward_context([&] { prediction = run.parts.strategy.run_predict_step(batch, batch_idx); });
  return prediction;
}

Batch predict_batch(RunContext& run, const Batch& batch, int64_t batch_idx) {
  BatchInHand in_hand(run.state, batch, batch_idx);
  run.parts.hooks.on_predict_batch_start(run.view);
  Batch prediction = run_step(run, batch, batch_idx);
  in_hand.set_prediction(prediction);
  run.parts.hooks.on_predict_batch_end(run.view);
  return prediction;
}

std::vector<Batch> predict_loader(RunContext& run, data::Loader& loader, int64_t index) {
  const auto limit = run.parts.options->limit_predict_batches.of(loader.size(), "trainer.limit_predict_batches");
  run.state.loaders.batches = limit;
  run.enter(Stage::Predict, index);
  loader.set_epoch(0);
  std::optional<RankedLoader> together;
  if (run.parts.options.strategy().traits.shards_parameters) together.emplace(loader, run.comm());
  // Ranks that need each other in each batch take them together.
  const auto next_batch = [&] { return together ? together->next() : loader.next(); };
  std::vector<Batch> predictions;
  for (int64_t batch_idx = 0; !limit || batch_idx < *limit; ++batch_idx) {
    auto loaded = measured(run.parts.profiler, Action::PredictNext, next_batch);
    if (!loaded) break;
    if (loaded->absent) {  // other ranks have all of its samples
      if (together)
        run_idle_evaluation(run, *together, std::move(loaded->batch),
                            [&](const Batch& idle) { run_step(run, idle, batch_idx); });
      continue;
    }
    predictions.push_back(predict_batch(run, run.to_device(std::move(loaded->batch)), batch_idx));
  }
  return predictions;
}

}  // namespace

std::vector<std::vector<Batch>> run_predict_loop(RunContext& run, const data::Loaders& loaders) {
  const c10::InferenceMode inference_mode(run.parts.options->inference_mode);
  const at::NoGradGuard no_grad;
  ModesRestored modes(run.module(), &LightningModule::restore_training_modes);
  measured(run.parts.profiler, Action::PredictModelEval, [&] { run.module().on_predict_model_eval(); });
  run.parts.hooks.on_predict_start(run.view);
  run.parts.hooks.on_predict_epoch_start(run.view);
  seed_loaders(run.parts, loaders);
  divide_among_ranks(run.parts, loaders);
  run.parts.strategy.begin_evaluation();  // of the weights that callbacks may have put in place
  std::vector<std::vector<Batch>> predictions;
  for (size_t i = 0; i < loaders.size(); ++i)
    predictions.push_back(predict_loader(run, loaders[i], static_cast<int64_t>(i)));
  run.parts.hooks.on_predict_epoch_end(run.view);
  run.parts.hooks.on_predict_end(run.view);
  modes.restore();
  return predictions;
}

}  // namespace levin
