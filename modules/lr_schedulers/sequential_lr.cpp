#include <levin/modules/lr_schedulers/sequential_lr.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/composite_lr.h>

#include <algorithm>

namespace levin {
namespace {

class BoundSequentialLR : public CompositeLR {
 public:
  BoundSequentialLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                    std::vector<std::unique_ptr<LRScheduler>> schedulers, std::vector<int64_t> milestones)
      : CompositeLR(optimizer, context, std::move(schedulers)), milestones_(std::move(milestones)) {
    // All schedulers have made their initial step, but only the one that starts should have.
    set_lr(*initial_lr_);
    undo_initial_step();
    schedulers_[begun()]->initial_step();
  }

  void step() override {
    ++last_epoch_;
    const size_t i = begun();
    const bool begins = i > 0 && milestones_[i - 1] == last_epoch_;
    begins ? schedulers_[i]->restart() : schedulers_[i]->step();
  }

  State state_dict() const override {
    State state = CompositeLR::state_dict();
    State milestones = State::list();
    for (int64_t milestone : milestones_) milestones.push_back(milestone);
    state["_milestones"] = milestones;
    return state;
  }
  void load_state_dict(const State& state) override {
    CompositeLR::load_state_dict(state);
    const State::List& milestones = state.at("_milestones").items();
    if (milestones.size() != milestones_.size())
      throw UsageError("the state of SequentialLR has ", milestones.size(), " milestones, the scheduler ",
                       milestones_.size());
    for (size_t i = 0; i < milestones.size(); ++i) milestones_[i] = milestones[i].to_int();
  }

 private:
  /// Returns the number of milestones reached, which is the index of the active scheduler.
  size_t begun() const {
    const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_);
    return static_cast<size_t>(next - milestones_.begin());
  }

  std::vector<int64_t> milestones_;
};

/// Returns the context of scheduler `i`, with its number of steps as the value of "auto" total_steps.
LRSchedulerContext context_of(size_t i, const std::vector<int64_t>& milestones, LRSchedulerContext context) {
  const int64_t frequency = context.outer_config->frequency;
  const int64_t begin = i == 0 ? 0 : milestones[i - 1] * frequency;
  if (i < milestones.size())
    context.total_steps = [steps = milestones[i] * frequency - begin] { return std::optional(steps); };
  else
    context.total_steps = [begin, whole = context.total_steps]() -> std::optional<int64_t> {
      const std::optional<int64_t> steps = whole ? whole() : std::nullopt;
      return steps ? std::optional(*steps - begin) : std::nullopt;
    };
  return context;
}

}  // namespace

SequentialLR::SequentialLR(SequentialLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  schema_of<SequentialLROptions>().check(&options_, "SequentialLR");
  const std::vector<int64_t>& milestones = options_.milestones;
  if (options_.schedulers.empty()) throw UsageError("SequentialLR.schedulers: missing; give at least one");
  if (options_.schedulers.size() != milestones.size() + 1)
    throw UsageError("SequentialLR.milestones: expected one fewer than the ", options_.schedulers.size(),
                     " schedulers, got ", milestones.size());
  if (!std::is_sorted(milestones.begin(), milestones.end()))
    throw UsageError("SequentialLR.milestones: expected rising numbers");
}

std::unique_ptr<LRScheduler> SequentialLR::bind(torch::optim::Optimizer& optimizer,
                                                const LRSchedulerContext& context) const {
  const LRSchedulerContext inside = context_inside(context, config);
  std::vector<std::unique_ptr<LRScheduler>> bound;
  for (size_t i = 0; i < options_.schedulers.size(); ++i) {
    const std::string path = "SequentialLR.schedulers[" + std::to_string(i) + "]";
    bound.push_back(options_.schedulers[i].bind(optimizer, context_of(i, options_.milestones, inside), path));
    if (i > 0 && dynamic_cast<const CompositeLR*>(bound.back().get()))
      throw UsageError(path,
                       ": a SequentialLR or ChainedScheduler cannot restart, so it can only stand first; name its "
                       "schedulers and milestones here instead");
  }
  return std::make_unique<BoundSequentialLR>(optimizer, inside, std::move(bound), options_.milestones);
}

}  // namespace levin
