#include <levin/modules/lr_schedulers/polynomial_lr.h>
#include <levin/modules/lr_schedulers/engine/factor_lr.h>

#include <cmath>

namespace levin {
namespace {

class BoundPolynomialLR : public FactorLR {
 public:
  BoundPolynomialLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                    const PolynomialLROptions& options)
      : FactorLR(optimizer, context), total_iters_(options.total_iters), power_(options.power) {
    keep_in_state("total_iters", &total_iters_);
    keep_in_state("power", &power_);
    start();
  }

 private:
  // The quotient of two adjacent values of the polynomial.
  double factor() const override {
    if (in_initial_step() || total_iters_ == 0 || last_epoch() > total_iters_) return 1;
    const auto total = static_cast<double>(total_iters_);
    const auto epoch = static_cast<double>(last_epoch());
    return std::pow((1 - epoch / total) / (1 - (epoch - 1) / total), power_);
  }

  int64_t total_iters_;
  double power_;
};

}  // namespace

PolynomialLR::PolynomialLR(PolynomialLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  schema_of<PolynomialLROptions>().check(&options_, "PolynomialLR");
}

std::unique_ptr<LRScheduler> PolynomialLR::bind(torch::optim::Optimizer& optimizer,
                                                const LRSchedulerContext& context) const {
  return std::make_unique<BoundPolynomialLR>(optimizer, context, options_);
}

}  // namespace levin
