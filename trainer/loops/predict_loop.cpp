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

/// `together`: of ranks that need each other in each batch.
std::optional<data::LoadedBatch> next_batch(RunContext& run, data::Loader& loader,
                                            std::optional<RankedLoader>& together) {
  const ProfileSpan span(run.parts().profiler, Action::PredictNext);
  return together ? together->next() : loader.next();
}

Batch run_step(RunContext& run, const Batch& batch, int64_t batch_idx) {
  Batch prediction;
  run.parts().precision.forward_context(
      [&] { prediction = run.parts().strategy.run_predict_step(batch, batch_idx, run.dataloader_idx()); });
  return prediction;
}

void set_eval(RunContext& run) {
  const ProfileSpan span(run.parts().profiler, Action::PredictModelEval);
  run.module().on_predict_model_eval();
}

Batch predict_batch(RunContext& run, const Batch& batch, int64_t batch_idx) {
  BatchInHand in_hand(run, batch, batch_idx);
  run.parts().hooks.on_predict_batch_start(run);
  Batch prediction = run_step(run, batch, batch_idx);
  ModuleAccess::refuse_two_forms(run.module(), ModuleMethod::predict_step, batch, batch_idx);
  in_hand.set_prediction(prediction);
  run.parts().hooks.on_predict_batch_end(run);
  return prediction;
}

std::vector<Batch> predict_loader(RunContext& run, data::Loader& loader, int64_t index) {
  const auto limit = run.parts().options.limit_predict_batches.of(loader.size(), "trainer.limit_predict_batches");
  run.set_num_batches(limit);
  run.enter(Stage::Predict, index);
  loader.set_epoch(0);
  std::optional<RankedLoader> together;
  if (run.parts().strategy.shards_parameters()) together.emplace(loader, run.comm());
  std::vector<Batch> predictions;
  for (int64_t batch_idx = 0; !limit || batch_idx < *limit; ++batch_idx) {
    std::optional<data::LoadedBatch> loaded = next_batch(run, loader, together);
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
  run.parts().strategy.begin_evaluation();
  const c10::InferenceMode inference_mode(run.parts().options.inference_mode);
  const at::NoGradGuard no_grad;
  ModesRestored modes(run.module(), &LightningModule::restore_training_modes);
  set_eval(run);
  run.parts().hooks.on_predict_start(run);
  run.parts().hooks.on_predict_epoch_start(run);
  seed_loaders(run.parts(), loaders);
  divide_among_ranks(run.parts(), loaders);
  std::vector<std::vector<Batch>> predictions;
  for (size_t i = 0; i < loaders.size(); ++i)
    predictions.push_back(predict_loader(run, loaders[i], static_cast<int64_t>(i)));
  run.parts().hooks.on_predict_epoch_end(run);
  run.parts().hooks.on_predict_end(run);
  modes.restore();
  return predictions;
}

}  // namespace levin
