#include <levin/trainer/strategies/zero1.h>
#include <levin/core/system/heap.h>

namespace levin {
namespace {

constexpr const char* kShares = "shares";

}  // namespace

void Zero1Strategy::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  check_divisible(optimizers, "zero1");
  DdpStrategy::attach(optimizers);
  if (optimizers.empty()) return;
  sharded_.emplace(*optimizers.front(), *reducer());
  return_free_memory();  // that of the parameters before they were moved into blocks
}

bool Zero1Strategy::follow_parameters() {
  const bool changed = DdpStrategy::follow_parameters();
  if (changed && sharded_) sharded_->follow();
  return changed;
}

State Zero1Strategy::state_dict() { return sharded_ ? State::dict({{kShares, DdpStrategy::state_dict()}}) : State(); }

void Zero1Strategy::load_state_dict(const State& state) {
  follow_parameters();
  const State* const shares = state.is_none() ? nullptr : state.find(kShares);
  if (!sharded_ || shares == nullptr) return;
  reducer()->load_state_dict(*shares);
  sharded_->reshard();
}

void Zero1Strategy::backward(const at::Tensor& loss, bool sync) {
  DdpStrategy::backward(loss, sync);
  if (sync && sharded_) sharded_->take_gradients();
}

void Zero1Strategy::backward_without_loss(bool sync) {
  DdpStrategy::backward_without_loss(sync);
  if (sync && sharded_) sharded_->take_gradients();
}

}  // namespace levin
