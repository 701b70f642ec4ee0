#include <levin/trainer/strategies/rank_sync.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include <cmath>

namespace levin {
namespace {

constexpr int64_t kBits = 64;
/// The kind in each message: from the sum over all ranks each can tell whether all have sent the same kind.
constexpr double kOfWeights = 1, kOfRequests = 1 << 20, kOfNumbers = int64_t{1} << 40;

}  // namespace

at::Tensor RankSync::message(double kind, double weight, uint64_t bits) {
  at::Tensor message = at::zeros({2 + kBits}, at::TensorOptions(at::kDouble));
  auto* const values = message.mutable_data_ptr<double>();
  values[0] = weight;
  values[1] = kind;
  for (int64_t i = 0; i < kBits; ++i) values[2 + i] = (bits >> i) & 1 ? 1.0 : 0.0;
  return message;
}

void RankSync::check_kind(const at::Tensor& message, double kind) const {
  // No kind reaches the next one, however many ranks there are.
  if (message.const_data_ptr<double>()[1] == kind * static_cast<double>(group_->present_ranks())) return;
  throw Error("rank ", group_->rank(), " of ", group_->world_size(), ": another rank is not in the same place: it ",
              kind == kOfWeights ? "does not end a window" : "ends a window",
              " here; do all ranks make the same steps, and call together what all must call? Rows of parameters "
              "(optim::keep_rows and others) change on all ranks or on none.");
}

uint64_t RankSync::bits_of(const at::Tensor& message, double kind) const {
  check_kind(message, kind);
  uint64_t bits = 0;
  const auto* const values = message.const_data_ptr<double>();
  for (int64_t i = 0; i < kBits; ++i) bits |= uint64_t{values[2 + i] > 0} << i;
  return bits;
}

RankSync::PendingSum RankSync::begin(double weight) {
  PendingSum pending(group_ != nullptr ? this : nullptr, weight);
  if (group_ == nullptr) return pending;
  pending.message_ = message(kOfWeights, weight, std::exchange(own_bits_, 0));
  pending.arrived_ = group_->begin_all_reduce(pending.message_);
  return pending;
}

double RankSync::PendingSum::finish() {
  if (sync_ == nullptr) return sum_;
  std::exchange(arrived_, nullptr)();
  sync_->agreed_bits_ |= sync_->bits_of(message_, kOfWeights);
  return *message_.const_data_ptr<double>() / static_cast<double>(sync_->copies_);
}

at::Tensor RankSync::mean_loss(const at::Tensor& loss, double weight) const {
  if (group_ == nullptr || group_->world_size() == 1) return loss;
  at::Tensor sums = at::zeros({2}, at::TensorOptions(at::kDouble));
  auto* const values = sums.mutable_data_ptr<double>();
  if (loss.defined() && weight > 0) {
    values[0] = loss.item<double>() * weight;  // host sync on a GPU
    values[1] = weight;
  }
  group_->all_reduce(sums, ReduceOp::Sum);
  if (values[1] == 0) return {};
  return at::full({}, values[0] / values[1], loss.defined() ? loss.options() : at::TensorOptions(at::kDouble));
}

uint64_t RankSync::agree(uint64_t bits) {
  if (group_ == nullptr) return bits;
  own_bits_ |= bits;
  return std::exchange(agreed_bits_, 0);
}

uint64_t RankSync::agree_now(uint64_t bits) {
  if (group_ == nullptr) return bits;
  at::Tensor asked = message(kOfRequests, 0, bits | std::exchange(own_bits_, 0));
  group_->all_reduce(asked, ReduceOp::Sum);
  return bits_of(asked, kOfRequests) | std::exchange(agreed_bits_, 0);
}

double RankSync::reference_weight(double weight, double& agreed) const {
  if (group_ == nullptr || group_->world_size() == 1) return 0;
  if (agreed != 0) return agreed;
  for (const at::Tensor& of_rank : group_->all_gather(at::full({1}, weight, at::TensorOptions(at::kDouble))))
    if (agreed == 0) agreed = of_rank.item<double>();
  return agreed;
}

bool RankSync::is_same_on_ranks(uint32_t number) {
  if (group_ == nullptr) return true;
  at::Tensor sums = message(kOfNumbers, number, 0);
  auto* const values = sums.mutable_data_ptr<double>();
  // Halves, whose squares are exact, also as sums.
  const double low = number & 0xffff, high = number >> 16;
  values[2] = low, values[3] = low * low, values[4] = high, values[5] = high * high;
  group_->all_reduce(sums, ReduceOp::Sum);
  check_kind(sums, kOfNumbers);
  // The numbers are the same if, and only if, their variance is 0.
  const auto ranks = static_cast<double>(group_->present_ranks());
  return values[3] * ranks == values[2] * values[2] && values[5] * ranks == values[4] * values[4];
}

void RankSync::agree_on_found_inf(at::Tensor& found_inf) const {
  if (group_ != nullptr && group_->world_size() > 1) group_->all_reduce(found_inf, ReduceOp::Max);
}

}  // namespace levin
