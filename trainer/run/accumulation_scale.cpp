#include <levin/trainer/run/accumulation_scale.h>
#include <levin/core/system/error.h>

#include <numeric>

namespace levin {

int64_t AccumulationScale::on_ranks(int64_t k, int64_t ranks) const {
  if (k * times_ % by_ != 0)
    throw UsageError("trainer.keep_global_batch: ", k, " batches of each rank in a step cannot be divided among ",
                     ranks, " ranks, which are ", static_cast<double>(by_) / static_cast<double>(times_),
                     " times as many as it was meant for; resume with as many as the run started with");
  return k * times_ / by_;
}

void AccumulationScale::change_ranks(int64_t before, int64_t after) {
  times_ *= before;
  by_ *= after;
  const int64_t common = std::gcd(times_, by_);
  times_ /= common;
  by_ /= common;
}

void AccumulationScale::load_state(const State& state) {
  times_ = state.items().at(0).to_int();
  by_ = state.items().at(1).to_int();
}

}  // namespace levin
