#include <levin/program/profile/step_watch.h>
#include <ATen/ops/ones.h>
#include <ATen/record_function.h>
#include <execinfo.h>
#include <levin/program/profile/code_place.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace levin {
namespace {

/// Returns the time of this thread on a core; the clock, if operations wait for a GPU.
double seconds_now(bool on_gpu) {
  timespec now = {};
  ::clock_gettime(on_gpu ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr double kLeastShare = 0.05;
constexpr int64_t kLeastElements = 1024;

thread_local StepWatch* watch_of_thread = nullptr;
thread_local int depth = 0;  ///< of operations inside others

int64_t memory_in_use() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const auto heap = ::mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
#else
  return 0;
#endif
}

/// Returns the seconds of one read of a value in main memory, without anyone watching.
double seconds_of_item() {
  constexpr int kCalls = 2000;
  const at::Tensor one = at::ones({});
  double sum = one.item<double>();
  const double begin = seconds_now(/*on_gpu=*/false);
  for (int i = 0; i < kCalls; ++i) sum += one.item<double>();
  const double seconds = seconds_now(/*on_gpu=*/false) - begin;
  return sum > 0 ? seconds / kCalls : 0;
}

template <class Function>
bool any_tensor(const at::RecordFunction& operation, const Function& matches) {
  for (const c10::IValue& value : operation.inputs())
    if (value.isTensor() && value.toTensor().defined() && matches(value.toTensor())) return true;
  return false;
}

}  // namespace

struct StepWatch::Begun : at::ObserverContext {
  Kind kind = Kind::Sync;
  bool is_found = false;
  Stack stack = {};
  std::string operation = {};
  double started = 0;
};

void StepWatch::begin_batch(const Batch& batch) {
  if (handle_ != 0) return;
  batches_ += 1;
  batch_elements_.clear();
  batch_is_double_ = false;
  for (const std::string& name : batch.names()) {
    if (batch.is_list(name)) continue;
    const at::Tensor& tensor = batch[name];
    if (tensor.numel() >= kLeastElements) batch_elements_.push_back(tensor.numel());
    batch_is_double_ |= tensor.scalar_type() == at::kDouble;
  }
  memory_.push_back(memory_in_use());
  watch_of_thread = this;
  depth = 0;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&StepWatch::begins, &StepWatch::ends)
                                           .needsInputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

void StepWatch::end_batch() {
  if (handle_ == 0) return;
  at::removeCallback(handle_);
  handle_ = 0;
  watch_of_thread = nullptr;
}

bool StepWatch::classify(const at::RecordFunction& operation, Kind& kind) const {
  const std::string_view name = operation.name();
  if (name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::is_nonzero" ||
      name == "aten::equal" || name == "aten::nonzero") {
    kind = Kind::Sync;
    return true;
  }
  const bool converts = name == "aten::to" || name == "aten::_to_copy";
  const auto is_of_batch = [&](const at::Tensor& tensor) {
    return std::ranges::find(batch_elements_, tensor.numel()) != batch_elements_.end();
  };
  if (on_gpu_ && (converts || name == "aten::copy_") &&
      any_tensor(operation, [](const at::Tensor& tensor) { return tensor.is_cpu(); })) {
    kind = Kind::WrongDevice;
    return true;
  }
  if (name == "aten::clone" || name == "aten::copy_" || name == "aten::contiguous" || name == "aten::repeat") {
    kind = Kind::Copy;
    return any_tensor(operation, is_of_batch);
  }
  kind = Kind::Double;
  return any_tensor(operation, [](const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kDouble && tensor.numel() >= kLeastElements;
  });
}

std::unique_ptr<at::ObserverContext> StepWatch::begins(const at::RecordFunction& operation) {
  StepWatch* const watch = watch_of_thread;
  auto begun = std::make_unique<Begun>();
  if (watch == nullptr || depth++ > 0 || !watch->classify(operation, begun->kind)) return begun;
  begun->is_found = true;
  begun->operation = operation.name();
  ::backtrace(begun->stack.data(), static_cast<int>(kFrames));
  begun->started = seconds_now(watch->on_gpu_);
  return begun;
}

void StepWatch::ends(const at::RecordFunction& /*operation*/, at::ObserverContext* context) {
  StepWatch* const watch = watch_of_thread;
  if (watch == nullptr || context == nullptr) return;
  if (depth > 0) depth -= 1;
  const auto* begun = static_cast<const Begun*>(context);
  if (!begun->is_found) return;
  Seen& seen = watch->seen_[{begun->kind, begun->stack}];
  seen.calls += 1;
  seen.seconds += seconds_now(watch->on_gpu_) - begun->started;
  seen.operation = begun->operation;
}

std::vector<ProfileTrap> StepWatch::traps(double step_seconds, bool expects_double) const {
  struct Found {
    int64_t calls = 0;
    double seconds = 0;
    std::string operation = {};
  };
  const double item_seconds = on_gpu_ ? 0 : seconds_of_item();
  // Different stacks may end at the same line; several lines of one kind are one trap each.
  std::map<std::pair<Kind, std::string>, Found> found;
  for (const auto& [key, seen] : seen_) {
    const auto& [kind, stack] = key;
    if (kind == Kind::Double && (expects_double || batch_is_double_)) continue;
    const auto batches = static_cast<double>(std::max<int64_t>(batches_, 1));
    double seconds = seen.seconds;
    if (kind == Kind::Sync && !on_gpu_) seconds = static_cast<double>(seen.calls) * item_seconds;
    // A stack that costs little is not worth a look at the debug information.
    const bool always = on_gpu_ && (kind == Kind::Sync || kind == Kind::WrongDevice);
    if (!always && seconds / batches < kLeastShare / 8 * step_seconds) continue;
    const std::string place = code_place(stack.data(), static_cast<int>(stack.size()));
    if (is_own_place(place)) continue;
    // Of double precision the function is told: each of its operations is slow.
    const size_t comma = place.find(", ");
    Found& one = found[{kind, kind == Kind::Double && comma != std::string::npos ? place.substr(comma + 2) : place}];
    one.calls += seen.calls;
    one.seconds += seconds;
    one.operation = seen.operation;
  }
  std::vector<ProfileTrap> traps;
  for (const auto& [key, one] : found) {
    const auto& [kind, place] = key;
    const auto batches = static_cast<double>(std::max<int64_t>(batches_, 1));
    // In float32 an operation reads and writes half of the bytes.
    const double share = std::min(one.seconds / batches / step_seconds * (kind == Kind::Double ? 0.5 : 1), 0.95);
    const bool always = on_gpu_ && (kind == Kind::Sync || kind == Kind::WrongDevice);
    if (!always && share < kLeastShare) continue;
    ProfileTrap trap{
        .where = place, .calls_per_step = static_cast<double>(one.calls) / batches, .gain = 1 / (1 - share)};
    switch (kind) {
      case Kind::Sync:
        trap.name = "the step reads values on the host (" + one.operation + ")";
        trap.what_to_do = "keep values as tensors; log() reads them at log points";
        break;
      case Kind::Copy:
        trap.name = "the step copies the batch (" + one.operation + ")";
        trap.what_to_do = "use the batch as it is, or change it in the dataset, where workers do it";
        break;
      case Kind::Double:
        trap.name = "the step computes in double precision (" + one.operation + ")";
        trap.what_to_do = "make tensors in float32: at::kFloat in their options, or .to(at::kFloat)";
        break;
      case Kind::WrongDevice:
        trap.name = "the step makes tensors in main memory and copies them to the device (" + one.operation + ")";
        trap.what_to_do = "make them on the device: at::TensorOptions(device()) or input.options()";
        break;
    }
    traps.push_back(std::move(trap));
  }
  std::ranges::stable_sort(traps, [](const auto& a, const auto& b) { return a.gain > b.gain; });
  add_growth(traps);
  return traps;
}

void StepWatch::add_growth(std::vector<ProfileTrap>& traps) const {
  constexpr int64_t kLeastGrowth = 32 << 10;
  constexpr size_t kLeastBatches = 6;
  if (memory_.size() < kLeastBatches) return;
  std::vector<int64_t> growths;
  for (size_t i = 1; i < memory_.size(); ++i) growths.push_back(memory_[i] - memory_[i - 1]);
  std::ranges::sort(growths);
  // Nearly each batch leaves as much as the others.
  const int64_t median = growths[growths.size() / 2], low = growths[growths.size() / 5];
  if (median < kLeastGrowth || low < median / 2) return;
  traps.push_back({.name = "memory grows by " + std::to_string(median >> 10) + " KiB with each batch",
                   .calls_per_step = 1,
                   .what_to_do = "a graph or an output is kept from step to step: store loss.detach() or a number"});
}

}  // namespace levin
