#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/process_group.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace levin {

/// The numbers on which the ranks of a run agree: the weights of windows, the requests of single ranks, and whether
/// gradients are finite. All ranks make the same calls in the same order. With one process nothing is sent, and the
/// answers are this process's own numbers.
class RankSync {
 public:
  /// One process.
  RankSync() = default;
  /// `group` must outlive the object. `copies`: processes of it that are one rank, as they compute the same batches;
  /// their weights count once.
  explicit RankSync(ProcessGroup& group, int64_t copies = 1) : group_(&group), copies_(copies) {}

  /// The sum of a window's weight over all ranks, on its way while backward runs.
  class [[nodiscard]] PendingSum {
   public:
    /// Waits for the sum and returns it. Call it once. Throws levin::Error if another rank does not end a window here.
    double finish();

   private:
    friend class RankSync;
    PendingSum(RankSync* sync, double own) : sync_(sync), sum_(own) {}

    RankSync* sync_;  ///< null with one process
    double sum_;
    at::Tensor message_ = {};  ///< summed over all ranks once `arrived_` was called
    std::function<void()> arrived_ = {};
  };
  /// Starts sending this rank's weight of the window to the others, without waiting. Call it before the backward that
  /// ends the window, and PendingSum::finish after that backward. Collective: all ranks call both.
  PendingSum begin(double weight);
  /// Returns the mean of the ranks' losses, weighted by their `weight`, the same on all ranks. `loss` has one element;
  /// undefined or with a weight of 0 it adds nothing. Undefined if no rank adds anything, and `loss` itself with one
  /// process. Collective: all ranks call it.
  at::Tensor mean_loss(const at::Tensor& loss, double weight) const;
  /// Passes on this rank's requests, as bits, and returns the bits that any rank has set, the same on all ranks. It
  /// sends no message itself: `bits` go with the weights of the next window, and the result was sent with the weights
  /// of the last one.
  uint64_t agree(uint64_t bits);
  /// Agrees on all requests made so far, with a message. Collective: all ranks call it.
  uint64_t agree_now(uint64_t bits);
  /// Returns w0, the weight that all ranks divide their weights by; 0 with one process, where each window has its own.
  /// `agreed` keeps w0: as long as it is 0 the ranks agree on the lowest rank's `weight` that is not 0. Collective
  /// then.
  double reference_weight(double weight, double& agreed) const;
  /// Returns whether the number is the same on all ranks. Collective. Throws levin::Error if another rank ends a window
  /// here.
  bool is_same_on_ranks(uint32_t number);
  /// Makes the flag for gradients that are not finite the same on all ranks: set if any rank has set it. Collective.
  void agree_on_found_inf(at::Tensor& found_inf) const;

 private:
  /// Makes a message: the window's weight, the kind of message, and one number per bit, which is not 0 if the bit is
  /// set.
  static at::Tensor message(double kind, double weight, uint64_t bits);
  /// Throws levin::Error if a rank has sent a message of another kind.
  void check_kind(const at::Tensor& message, double kind) const;
  /// Returns the bits that any rank has set. Throws as check_kind.
  uint64_t bits_of(const at::Tensor& message, double kind) const;

  ProcessGroup* group_ = nullptr;  ///< null with one process
  int64_t copies_ = 1;
  uint64_t own_bits_ = 0;     ///< bits that the next message takes along
  uint64_t agreed_bits_ = 0;  ///< bits that arrived with weights
};

}  // namespace levin
