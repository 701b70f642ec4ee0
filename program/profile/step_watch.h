#pragma once
#include <levin/data/batch.h>
#include <levin/program/profile/profile_report.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace levin {

/// Watches the operations of train batches for what commonly slows a step: values read on the host, copies of the
/// batch, double precision, tensors of the wrong device, and memory that grows from batch to batch. One watch at a
/// time; operations of the thread that begins the batches.
class StepWatch {
 public:
  explicit StepWatch(bool on_gpu) : on_gpu_(on_gpu) {}
  ~StepWatch() { end_batch(); }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  void begin_batch(const Batch& batch);
  void end_batch();

  /// Returns the traps that cost a batch of `step_seconds` at least 5 % of its time (on a GPU each host sync and copy
  /// to it counts), the most expensive first, with the place in the user's code as far as the stack tells.
  std::vector<ProfileTrap> traps(double step_seconds, bool expects_double) const;

 private:
  enum class Kind { Sync, Copy, Double, WrongDevice };
  static constexpr size_t kFrames = 40;
  using Stack = std::array<void*, kFrames>;
  struct Seen {
    int64_t calls = 0;
    double seconds = 0;
    std::string operation = {};
  };
  struct Begun;

  static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& operation);
  static void ends(const at::RecordFunction& operation, at::ObserverContext* context);
  bool classify(const at::RecordFunction& operation, Kind& kind) const;
  void add_growth(std::vector<ProfileTrap>& traps) const;

  bool on_gpu_;
  bool batch_is_double_ = false;
  uint64_t handle_ = 0;
  int64_t batches_ = 0;
  std::vector<int64_t> batch_elements_ = {};  ///< of its tensors
  std::map<std::pair<Kind, Stack>, Seen> seen_ = {};
  std::vector<int64_t> memory_ = {};  ///< in use at the begin of each batch
};

}  // namespace levin
