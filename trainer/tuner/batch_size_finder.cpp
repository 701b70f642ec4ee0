#include <levin/trainer/tuner/batch_size_finder.h>
#include <levin/callbacks/saved_callback_state.h>
#include <levin/core/system/error.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/tuner/finders.h>

#include <utility>

namespace levin {
namespace {

constexpr const char* kOptimalBatchSize = "optimal_batch_size";

}  // namespace

BatchSizeFinder::BatchSizeFinder(BatchSizeOptions options) : options_(std::move(options)) {
  schema_of<BatchSizeOptions>().check(&options_, "BatchSizeFinder");
}

void BatchSizeFinder::before_fit(Trainer& trainer, const ModuleRef& module, const RunInputs& inputs) {
  if (!finder_may_search(trainer, inputs)) return;
  if (!inputs.train.empty())
    throw UsageError(
        "BatchSizeFinder: loaders that are made already keep their batch size; give fit a data module, or let the "
        "module make its loaders");
  found_ = inputs.data_module ? scale_batch_size(trainer, module, *inputs.data_module, options_).batch_size
                              : scale_batch_size(trainer, module, options_).batch_size;
}

/// The loaders are not made yet.
void BatchSizeFinder::on_load_checkpoint(Run& run, const State& checkpoint) {
  if (!run.fitting()) return;
  const State* const own = saved_callback_state(checkpoint, state_key());
  if (own == nullptr || own->at(kOptimalBatchSize).is_none()) return;
  load_state_dict(*own);
  if (options_.set_batch_size)
    options_.set_batch_size(*found_);
  else if (run.data_module() != nullptr)
    run.data_module()->set_batch_size(*found_);
}

State BatchSizeFinder::state_dict() const {
  return State::dict({{kOptimalBatchSize, found_ ? State(*found_) : State()}});
}

void BatchSizeFinder::load_state_dict(const State& state) {
  const State& saved = state.at(kOptimalBatchSize);
  found_ = saved.is_none() ? std::nullopt : std::optional(saved.to_int());
}

}  // namespace levin
