#include <levin/modules/adapters/late_weights.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace levin::adapters {
namespace {

thread_local LateWeights* late_weights = nullptr;

/// Returns the place of a parameter in `waiting`, or its end.
template <class Waiting>
auto place_of(Waiting& waiting, const at::Tensor& parameter) {
  return std::ranges::find_if(waiting, [&](const auto& one) { return one.first.is_same(parameter); });
}

}  // namespace

LateWeights::LateWeights() : outer_(std::exchange(late_weights, this)) {}

LateWeights::~LateWeights() { late_weights = outer_; }

LateWeights* LateWeights::current() { return late_weights; }

void LateWeights::fill_rest() {
  const at::NoGradGuard no_grad;
  for (const auto& [parameter, fill] : waiting_) fill();
  waiting_.clear();
}

bool is_late(const at::Tensor& parameter) {
  if (late_weights == nullptr) return false;
  return place_of(late_weights->waiting_, parameter) != late_weights->waiting_.end();
}

bool fill_late(const at::Tensor& parameter) {
  if (late_weights == nullptr) return false;
  const auto found = place_of(late_weights->waiting_, parameter);
  if (found == late_weights->waiting_.end()) return false;
  const at::NoGradGuard no_grad;
  found->second();
  late_weights->waiting_.erase(found);
  return true;
}

}  // namespace levin::adapters
