#include <levin/modules/lr_schedulers/engine/composite_lr.h>
#include <levin/core/system/error.h>

namespace levin {

CompositeLR::CompositeLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                         std::vector<std::unique_ptr<LRScheduler>> schedulers)
    : LRScheduler(optimizer, context), schedulers_(std::move(schedulers)) {}

State CompositeLR::state_dict() const {
  State state = LRScheduler::state_dict();
  State list = State::list();
  for (const auto& scheduler : schedulers_) list.push_back(scheduler->state_dict());
  state["_schedulers"] = list;
  return state;
}

void CompositeLR::load_state_dict(const State& state) {
  const State::List& list = state.at("_schedulers").items();
  if (list.size() != schedulers_.size())
    throw UsageError("the scheduler's state holds ", list.size(), " schedulers, the scheduler ", schedulers_.size());
  State own = state;
  // Python's ChainedScheduler saves no epoch.
  if (!own.contains("last_epoch")) own["last_epoch"] = list.front().at("last_epoch");
  LRScheduler::load_state_dict(own);
  for (size_t i = 0; i < list.size(); ++i) schedulers_[i]->load_state_dict(list[i]);
}

void CompositeLR::undo_initial_step() {
  for (const auto& scheduler : schedulers_) scheduler->undo_initial_step();
}

void CompositeLR::restart() {
  throw UsageError("a SequentialLR or ChainedScheduler cannot restart; let it stand first in a SequentialLR");
}

}  // namespace levin
