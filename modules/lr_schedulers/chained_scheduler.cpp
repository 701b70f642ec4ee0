#include <levin/modules/lr_schedulers/chained_scheduler.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/composite_lr.h>

namespace levin {
namespace {

class BoundChainedScheduler : public CompositeLR {
 public:
  using CompositeLR::CompositeLR;

  void step() override {
    ++last_epoch_;
    for (const auto& scheduler : schedulers_) scheduler->step();
  }
};

}  // namespace

ChainedScheduler::ChainedScheduler(ChainedSchedulerOptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  schema_of<ChainedSchedulerOptions>().check(&options_, "ChainedScheduler");
  if (options_.schedulers.empty()) throw UsageError("ChainedScheduler.schedulers: missing; give at least one");
}

std::unique_ptr<LRScheduler> ChainedScheduler::bind(torch::optim::Optimizer& optimizer,
                                                    const LRSchedulerContext& context) const {
  const LRSchedulerContext inside = context_inside(context, config);
  std::vector<std::unique_ptr<LRScheduler>> bound;
  for (size_t i = 0; i < options_.schedulers.size(); ++i)
    bound.push_back(
        options_.schedulers[i].bind(optimizer, inside, "ChainedScheduler.schedulers[" + std::to_string(i) + "]"));
  return std::make_unique<BoundChainedScheduler>(optimizer, inside, std::move(bound));
}

}  // namespace levin
