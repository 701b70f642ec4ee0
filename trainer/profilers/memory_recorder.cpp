#include <levin/trainer/profilers/memory_recorder.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <levin/trainer/profilers/call_stack.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace levin {
namespace {

constexpr std::string_view kBackward = "autograd::engine::evaluate_function: ";

/// An operation that runs in this thread.
struct OpenOperation {
  const char* name;
  const std::string* layer;  ///< of a parameter among its inputs; null if there is none
};

struct ThreadOperations {
  uint64_t recorder = 0;  ///< that they are known to; names of layers are its own
  std::vector<OpenOperation> open = {};
  const std::string* last_layer = nullptr;
};
thread_local ThreadOperations operations;

struct FollowedOperation : at::ObserverContext {};

uint64_t next_id() {
  static std::atomic<uint64_t> ids = 0;
  return ++ids;
}

int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? static_cast<int64_t>(tensor.storage().nbytes()) : 0;
}

}  // namespace

MemoryRecorder::MemoryRecorder(const torch::nn::Module& module) : id_(next_id()), thread_(std::this_thread::get_id()) {
  for (const auto& parameter : module.named_parameters())
    if (parameter.value().defined() && parameter.value().has_storage() && parameter.value().numel() > 0) {
      const size_t dot = parameter.key().rfind('.');
      layers_.emplace(TensorPlace(parameter.value()), dot == std::string::npos ? "" : parameter.key().substr(0, dot));
    }
  // What the module holds already is a part of every peak.
  std::set<const void*> seen;
  for (const auto& list : {module.parameters(), module.buffers()})
    for (const at::Tensor& tensor : list) {
      if (bytes_of(tensor) == 0 || !seen.insert(tensor.storage().data()).second) continue;
      DeviceUse& use = devices_[index_of(tensor.device())];
      use.live += bytes_of(tensor);
      use.peak = use.live;
    }
}

MemoryRecorder::~MemoryRecorder() = default;

const std::string* MemoryRecorder::layer_in(const at::RecordFunction& operation) const {
  const std::string* found = nullptr;
  const auto look_up = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    if (const auto layer = layers_.find(TensorPlace(tensor)); layer != layers_.end()) found = &layer->second;
  };
  for (const c10::IValue& input : operation.inputs()) {
    if (input.isTensor()) look_up(input.toTensor());
    if (input.isTensorList())
      for (const at::Tensor& tensor : input.toTensorVector()) look_up(tensor);
  }
  return found;
}

void MemoryRecorder::install(const std::shared_ptr<MemoryRecorder>& recorder) {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, recorder);
  recorder->callback_ =
      at::addThreadLocalCallback(at::RecordFunctionCallback(&operation_begins, &operation_ends)
                                     .needsInputs(true)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

void MemoryRecorder::uninstall() {
  is_on_ = false;
  // In another thread than the one that it was installed in, it stays there and reports nothing.
  if (std::this_thread::get_id() != thread_) return;
  if (callback_) at::removeCallback(*callback_);
  callback_.reset();
  if (of_thread() == this) c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
}

MemoryRecorder* MemoryRecorder::of_thread() {
  auto* const info = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  return dynamic_cast<MemoryRecorder*>(info);
}

std::unique_ptr<at::ObserverContext> MemoryRecorder::operation_begins(const at::RecordFunction& operation) {
  MemoryRecorder* const recorder = of_thread();
  if (recorder == nullptr || !recorder->is_on_) return nullptr;
  if (operations.recorder != recorder->id_) operations = {.recorder = recorder->id_};
  const std::string* const layer = recorder->layer_in(operation);
  if (layer != nullptr) operations.last_layer = layer;
  operations.open.push_back({operation.name(), layer});
  return std::make_unique<FollowedOperation>();
}

void MemoryRecorder::operation_ends(const at::RecordFunction& /*operation*/, at::ObserverContext* context) {
  if (context != nullptr && !operations.open.empty()) operations.open.pop_back();
}

size_t MemoryRecorder::index_of(c10::Device device) {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].device == device) return i;
  devices_.push_back({.device = device});
  return devices_.size() - 1;
}

void MemoryRecorder::reportMemoryUsage(void* /*memory*/, int64_t bytes, size_t /*allocated*/, size_t /*reserved*/,
                                       c10::Device device) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  const size_t index = index_of(device);
  DeviceUse& use = devices_[index];
  use.live += bytes;
  use.peak = std::max(use.peak, use.live);
  if (bytes <= 0) return;
  if (!open_.empty()) {
    OpenAction& innermost = open_.back();
    innermost.peak.resize(devices_.size());
    innermost.peak[index] = std::max(innermost.peak[index], use.live);
  }
  note_place(bytes, index);
}

void MemoryRecorder::note_place(int64_t bytes, size_t device) {
  const std::string* name = nullptr;
  const std::string* layer = nullptr;
  if (operations.recorder == id_ && !operations.open.empty()) {
    std::string_view text = operations.open.front().name;
    if (text.starts_with(kBackward)) text.remove_prefix(kBackward.size());
    const auto found = names_.find(text);
    name = found != names_.end() ? &*found : &*names_.emplace(text).first;
    for (const OpenOperation& one : operations.open)
      if (one.layer != nullptr) layer = one.layer;
  }
  const bool is_after = name != nullptr && layer == nullptr && operations.last_layer != nullptr;
  if (is_after) layer = operations.last_layer;
  const int action = open_.empty() ? -1 : open_.back().number;
  const auto [found, is_new] = places_.try_emplace({name, layer, is_after, action, device});
  Place& place = found->second;
  place.times += 1;
  place.bytes = std::max(place.bytes, bytes);
  if (!is_new) return;
  if (name != nullptr) place.operation = *name;
  if (layer != nullptr) place.layer = layer->empty() ? "(the module itself)" : *layer;
  place.is_after = is_after;
  place.action = action;
  place.device = devices_[device].device.str();
  place.stack = call_stack();
}

void MemoryRecorder::start(const ProfileSpan& span) {
  if (!is_on_ || std::this_thread::get_id() != thread_) return;
  const std::lock_guard lock(mutex_);
  operations.last_layer = nullptr;
  OpenAction action;
  action.number = span.number();
  for (const DeviceUse& use : devices_) action.live_before.push_back(use.live);
  action.peak = action.live_before;
  open_.push_back(std::move(action));
}

void MemoryRecorder::stop(const ProfileSpan& span) {
  if (!is_on_ || std::this_thread::get_id() != thread_) return;
  const std::lock_guard lock(mutex_);
  operations.last_layer = nullptr;
  // Actions that began before the recorder are not there.
  if (open_.empty() || open_.back().number != span.number()) return;
  const OpenAction action = std::move(open_.back());
  open_.pop_back();
  note_use(action);
  if (open_.empty()) return;
  OpenAction& outer = open_.back();
  outer.peak.resize(std::max(outer.peak.size(), action.peak.size()));
  for (size_t i = 0; i < action.peak.size(); ++i) outer.peak[i] = std::max(outer.peak[i], action.peak[i]);
}

void MemoryRecorder::note_use(const OpenAction& action) {
  std::vector<Use>& uses = uses_[action.number];
  uses.resize(std::max(uses.size(), action.peak.size()));
  for (size_t i = 0; i < action.peak.size(); ++i) {
    const int64_t before = i < action.live_before.size() ? action.live_before[i] : 0;
    uses[i].peak = std::max(uses[i].peak, action.peak[i]);
    uses[i].grown = std::max(uses[i].grown, action.peak[i] - before);
  }
}

std::map<std::string, int64_t> MemoryRecorder::peaks() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int64_t> result;
  for (const DeviceUse& use : devices_) result[use.device.str()] = use.peak;
  return result;
}

std::map<std::string, int64_t> MemoryRecorder::live() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int64_t> result;
  for (const DeviceUse& use : devices_) result[use.device.str()] = use.live;
  return result;
}

std::map<int, std::map<std::string, MemoryRecorder::Use>> MemoryRecorder::uses() const {
  const std::lock_guard lock(mutex_);
  std::map<int, std::map<std::string, Use>> result;
  for (const auto& [number, uses] : uses_)
    for (size_t i = 0; i < uses.size(); ++i) result[number][devices_[i].device.str()] = uses[i];
  return result;
}

std::vector<MemoryRecorder::Place> MemoryRecorder::largest(size_t number) const {
  const std::lock_guard lock(mutex_);
  std::vector<Place> all;
  for (const auto& [key, place] : places_) all.push_back(place);
  // The keys are addresses, so that their order says nothing: equal places are ordered by what they show.
  std::ranges::sort(all, [](const Place& a, const Place& b) {
    return std::tuple(-a.bytes, -a.times, std::cref(a.operation).get(), std::cref(a.layer).get(), a.action) <
           std::tuple(-b.bytes, -b.times, std::cref(b.operation).get(), std::cref(b.layer).get(), b.action);
  });
  if (all.size() > number) all.resize(number);
  return all;
}

}  // namespace levin
