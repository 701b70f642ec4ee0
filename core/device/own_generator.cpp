#include <levin/core/device/own_generator.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <levin/core/system/error.h>
#include <torch/library.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

namespace levin {
namespace {

using c10::DispatchKey, c10::DispatchKeySet;

/// Above autograd and autocast, so that each operation passes it first. Nothing in LibTorch includes it.
constexpr DispatchKey kKey = DispatchKey::TESTING_ONLY_GenericMode;
/// LibTorch hands such values on to the threads of backward and at::launch. This kind is for anybody's use.
const c10::DebugInfoKind kInfo = c10::DebugInfoKind::TEST_INFO_2;

struct GeneratorInfo final : c10::DebugInfoBase {
  explicit GeneratorInfo(at::Generator own_) : own(std::move(own_)) {}
  at::Generator own;
};

const at::Generator* own_generator() {
  const auto* const info = static_cast<const GeneratorInfo*>(c10::ThreadLocalDebugInfo::get(kInfo));
  return info != nullptr && info->own.defined() ? &info->own : nullptr;
}

bool is_generator(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.type();
  const auto optional = type->cast<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

bool is_tensor(const c10::Argument& argument) { return argument.type()->kind() == c10::TypeKind::TensorType; }

/// The kernel of all operations that draw: fills in the generator, unless one is given or the tensors are elsewhere.
void draw(const c10::OperatorHandle& operation, DispatchKeySet keys, torch::jit::Stack* stack) {
  const std::vector<c10::Argument>& arguments = operation.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  bool on_cpu = true;
  c10::IValue* generator = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (is_generator(arguments[i]))
      generator = &value;
    else if (value.isTensor() && value.toTensor().defined())
      on_cpu = on_cpu && value.toTensor().is_cpu();
  }
  if (const at::Generator* own = own_generator(); own != nullptr && on_cpu && generator->isNone()) *generator = *own;
  operation.redispatchBoxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kKey), stack);
}

/// The kernels under `kKey`: none for most operations, and `draw` for those that take a tensor and draw. The others
/// that draw (rand, randperm) call these.
class DrawingKernels {
 public:
  DrawingKernels() {
    try {
      set_kernels();
    } catch (const std::exception& error) {
      why_not_ = error.what();
    }
  }

  /// Empty if the kernels are in place.
  const std::string& why_not() const { return why_not_; }

 private:
  void set_kernels() {
    all_.fallback(torch::CppFunction::makeFallthrough());
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      if (name.name.rfind("aten::", 0) != 0) continue;
      const std::optional<c10::OperatorHandle> operation = dispatcher.findSchema(name);
      if (!operation || !std::ranges::any_of(operation->schema().arguments(), is_generator) ||
          !std::ranges::any_of(operation->schema().arguments(), is_tensor))
        continue;
      const std::string overload = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
      aten_.impl(overload.c_str(), torch::CppFunction::makeFromBoxedFunction<&draw>());
    }
  }

  torch::Library all_{torch::Library::IMPL, "_", kKey, __FILE__, __LINE__};
  torch::Library aten_{torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__};
  std::string why_not_ = {};
};

/// Made before main: LibTorch's dispatch tables are not meant to change while other threads use them.
const DrawingKernels g_kernels;

}  // namespace

at::Generator default_generator() {
  const at::Generator* const own = own_generator();
  return own != nullptr ? *own : at::detail::getDefaultCPUGenerator();
}

bool has_own_generator() { return own_generator() != nullptr; }

at::Generator make_generator(uint64_t seed) { return at::detail::createCPUGenerator(seed); }

void seed_generators(uint64_t seed) {
  const at::Generator* const own = own_generator();
  if (own == nullptr) return at::manual_seed(seed);
  at::Generator generator = *own;
  {
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
  }
  if (!at::globalContext().hasCUDA()) return;
  for (int64_t device = 0; device < at::detail::getCUDAHooks().deviceCount(); ++device) {
    at::Generator of_gpu =
        at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
    const std::lock_guard lock(of_gpu.mutex());
    of_gpu.set_current_seed(seed);
  }
}

GeneratorScope::GeneratorScope(const std::optional<at::Generator>& own) {
  if (!own) return;
  if (!g_kernels.why_not().empty())
    throw Error("trainer.random_generator: own is not possible here, another library has taken a part of LibTorch (",
                g_kernels.why_not(), "); set it to \"default\"");
  info_.emplace(kInfo, std::make_shared<GeneratorInfo>(*own));
  key_.emplace(kKey);
}

}  // namespace levin
