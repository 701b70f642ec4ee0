#include <levin/trainer/resume/precision_state.h>
#include <levin/modules/optim/grad_scaler.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/trainer/run/run_context.h>

namespace levin {
namespace {

/// PyTorch Lightning's keys of the GradScaler's state; the second is from versions before 1.8.
constexpr const char* kScalerKey = "MixedPrecision";
constexpr const char* kEarlyScalerKey = "native_amp_scaling_state";
constexpr const char* kMasterWeightsKey = "master_weights";

void load_scaler(optim::GradScaler& scaler, const State& checkpoint) {
  for (const char* key : {kScalerKey, kEarlyScalerKey})
    if (const State* state = checkpoint.find(key); state != nullptr && state->is_dict() && state->size() > 0)
      return scaler.load_state_dict(*state);
}

}  // namespace

void save_precision_state(RunContext& run, State& checkpoint) {
  if (const optim::GradScaler* scaler = run.parts.precision.scaler()) checkpoint[kScalerKey] = scaler->state_dict();
  for (size_t i = 0; i < run.parts.optimizers.size(); ++i)
    if (const auto* masters = run.parts.precision.master_weights(i))
      checkpoint["levin"][kMasterWeightsKey].push_back(masters->state_dict());
}

void load_precision_state(RunContext& run, const State& checkpoint) {
  if (optim::GradScaler* scaler = run.parts.precision.scaler()) load_scaler(*scaler, checkpoint);
  const State* own = checkpoint.find("levin");
  const State* saved = own != nullptr ? own->find(kMasterWeightsKey) : nullptr;
  for (size_t i = 0; i < run.parts.optimizers.size(); ++i) {
    auto* masters = run.parts.precision.master_weights(i);
    if (masters == nullptr) continue;
    if (saved != nullptr && i < saved->size())
      masters->load_state_dict(saved->items()[i]);
    else
      masters->read_module();
  }
}

}  // namespace levin
