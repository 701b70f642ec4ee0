#include <levin/modules/lr_schedulers/linear_lr.h>
#include <levin/modules/lr_schedulers/engine/factor_lr.h>

namespace levin {
namespace {

class BoundLinearLR : public FactorLR {
 public:
  BoundLinearLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, const LinearLROptions& options)
      : FactorLR(optimizer, context),
        start_factor_(options.start_factor),
        end_factor_(options.end_factor),
        total_iters_(options.total_iters) {
    keep_in_state("start_factor", &start_factor_);
    keep_in_state("end_factor", &end_factor_);
    keep_in_state("total_iters", &total_iters_);
    start();
  }

 private:
  // The quotient of two adjacent values of the line.
  double factor() const override {
    if (last_epoch() == 0) return start_factor_;
    if (last_epoch() > total_iters_) return 1;
    const double change = end_factor_ - start_factor_;
    return 1 + change /
                   (static_cast<double>(total_iters_) * start_factor_ + static_cast<double>(last_epoch() - 1) * change);
  }
  double first_factor() const override { return start_factor_; }

  double start_factor_, end_factor_;
  int64_t total_iters_;
};

}  // namespace

LinearLR::LinearLR(LinearLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  schema_of<LinearLROptions>().check(&options_, "LinearLR");
}

std::unique_ptr<LRScheduler> LinearLR::bind(torch::optim::Optimizer& optimizer,
                                            const LRSchedulerContext& context) const {
  return std::make_unique<BoundLinearLR>(optimizer, context, options_);
}

}  // namespace levin
