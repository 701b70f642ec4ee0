#include <levin/modules/parallel/sharding/watched_memory.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/SmallVector.h>
#include <torch/library.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace levin::parallel {
namespace {

/// LibTorch reserves this key for code outside of it. It comes before autograd and autocast.
constexpr c10::DispatchKey kKey = c10::DispatchKey::DeferredInit;

/// The deleters by which a watched storage is known; their context is the WatchedMemory, which the second one ends.
void keep(void* /*owner*/) {}
void end(void* owner) { delete static_cast<WatchedMemory*>(owner); }

WatchedMemory* owner_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  const c10::DataPtr& memory = tensor.unsafeGetTensorImpl()->unsafe_storage().data_ptr();
  const bool is_watched = memory.get_deleter() == &keep || memory.get_deleter() == &end;
  return is_watched ? static_cast<WatchedMemory*>(memory.get_context()) : nullptr;
}

/// Returns whether an operation gives a tensor another shape and never reads it.
bool only_views(std::string_view operation) {
  static constexpr std::string_view kViews[] = {
      "aten::detach",    "aten::detach_", "aten::alias",   "aten::t",          "aten::transpose",
      "aten::permute",   "aten::view",    "aten::view_as", "aten::expand",     "aten::expand_as",
      "aten::unsqueeze", "aten::squeeze", "aten::select",  "aten::slice",      "aten::narrow",
      "aten::unbind",    "aten::split",   "aten::chunk",   "aten::as_strided", "aten::requires_grad_"};
  return std::find(std::begin(kViews), std::end(kViews), operation) != std::end(kViews);
}

/// The memories that an operation uses, until it ends.
class Uses {
 public:
  Uses() = default;
  ~Uses() {
    for (const Use& use : uses_) use.memory->end_use(use.written);
  }
  Uses(const Uses&) = delete;
  Uses& operator=(const Uses&) = delete;

  void begin(const c10::OperatorHandle& operation, c10::ArrayRef<c10::IValue> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) visit(operation, arguments[i], i);
  }

 private:
  struct Use {
    WatchedMemory* memory;
    bool written;
  };

  void visit(const c10::OperatorHandle& operation, const c10::IValue& value, size_t argument) {
    if (value.isTensor()) {
      add(operation, value.toTensor(), argument);
    } else if (value.isList()) {
      for (const c10::IValue& one : value.toListRef())
        if (one.isTensor()) add(operation, one.toTensor(), argument);
    }
  }

  void add(const c10::OperatorHandle& operation, const at::Tensor& tensor, size_t argument) {
    WatchedMemory* const memory = owner_of(tensor);
    if (memory == nullptr || only_views(operation.schema().name())) return;
    const c10::AliasInfo* const alias = operation.schema().arguments()[argument].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    for (Use& use : uses_)
      if (use.memory == memory) {
        use.written |= written;
        return;
      }
    memory->begin_use();
    uses_.push_back({.memory = memory, .written = written});
  }

  c10::SmallVector<Use, 4> uses_;
};

/// Calls `see(tensor)` for each tensor among values, also in lists.
template <class See>
void for_each_tensor(c10::ArrayRef<c10::IValue> values, const See& see) {
  for (const c10::IValue& value : values)
    if (value.isTensor())
      see(value.toTensor());
    else if (value.isTensorList())
      for (const c10::IValue& one : value.toListRef()) see(one.toTensor());
}

const void* storage_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

thread_local NewTensors* new_tensors = nullptr;

void run_watched(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard alone(kKey);
  const c10::ArrayRef<c10::IValue> arguments = torch::jit::last(*stack, operation.schema().arguments().size());
  c10::SmallVector<const void*, 4> given;
  if (new_tensors != nullptr)
    for_each_tensor(arguments, [&](const at::Tensor& one) { given.push_back(storage_of(one)); });
  {
    Uses uses;
    uses.begin(operation, arguments);
    operation.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
  }
  if (new_tensors == nullptr) return;
  for_each_tensor(torch::jit::last(*stack, operation.schema().returns().size()), [&](const at::Tensor& one) {
    const void* const storage = storage_of(one);
    if (storage != nullptr && std::find(given.begin(), given.end(), storage) == given.end()) new_tensors->made(one);
  });
}

}  // namespace

void set_watched(const at::Storage& storage, WatchedMemory& owner, void* data) {
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap({data, &owner, &keep, storage.device()});
}

void give_watched(const at::Storage& storage, std::unique_ptr<WatchedMemory> owner) {
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap({nullptr, owner.release(), &end, storage.device()});
}

void set_watched_data(c10::StorageImpl& storage, void* data) {
  at::DataPtr& now = storage.mutable_data_ptr();
  const c10::DeleterFnPtr deleter = now.get_deleter();
  void* const owner = now.release_context();
  storage.set_data_ptr_noswap({data, owner, deleter, storage.device()});
}

void set_unwatched(const at::Storage& storage) {
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(
      c10::GetAllocator(storage.device_type())->allocate(storage.nbytes()));
}

OwnPart own_part(const at::Tensor& tensor) {
  const WatchedMemory* const memory = owner_of(tensor);
  return memory != nullptr ? memory->own_part(tensor) : OwnPart();
}

void own_part_changed(const at::Tensor& tensor) {
  if (WatchedMemory* const memory = owner_of(tensor)) memory->own_parts_changed();
}

MemoryUse::MemoryUse(const at::Tensor& tensor) : memory_(owner_of(tensor)) {
  if (memory_ != nullptr) memory_->begin_use();
}

MemoryUse::~MemoryUse() {
  if (memory_ != nullptr) memory_->end_use(/*written=*/false);
}

NewTensorsScope::NewTensorsScope(NewTensors& listener) : outer_(std::exchange(new_tensors, &listener)) {}
NewTensorsScope::~NewTensorsScope() { new_tensors = outer_; }

WatchScope::WatchScope() : included_(kKey) {}
UnwatchedScope::UnwatchedScope() : excluded_(kKey) {}

TORCH_LIBRARY_IMPL(_, DeferredInit, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_watched>());
}

}  // namespace levin::parallel
