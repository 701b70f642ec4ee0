#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/trainer/core/error.h>

namespace levin {
namespace {

class BoundStepLR : public LRScheduler {
 public:
  BoundStepLR(torch::optim::Optimizer& optimizer, int64_t step_size, double gamma)
      : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
    start();
  }

  State state_dict() const override {
    State state = LRScheduler::state_dict();
    state["step_size"] = step_size_;
    state["gamma"] = gamma_;
    return state;
  }
  void load_state_dict(const State& state) override {
    LRScheduler::load_state_dict(state);
    step_size_ = state.at("step_size").to_int();
    gamma_ = state.at("gamma").to_double();
  }

 protected:
  std::vector<double> next_lr(const std::vector<double>& current) override {
    std::vector<double> rates = current;
    if (last_epoch() != 0 && last_epoch() % step_size_ == 0)
      for (double& rate : rates) rate *= gamma_;
    return rates;
  }

 private:
  int64_t step_size_;
  double gamma_;
};

}  // namespace

StepLR::StepLR(StepLROptions options, LRSchedulerConfig when) : LRSchedulerSpec(std::move(when)), options_(options) {
  if (!options_.step_size) throw UsageError("StepLR.step_size: missing; set the epochs (or steps) between two decays");
  schema_of<StepLROptions>().check(&options_, "StepLR");
}

std::unique_ptr<LRScheduler> StepLR::bind(torch::optim::Optimizer& optimizer, const LRSchedulerContext&) const {
  return std::make_unique<BoundStepLR>(optimizer, *options_.step_size, options_.gamma);
}

}  // namespace levin
