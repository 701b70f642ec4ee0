#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <levin/core/options/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

namespace levin {

class PrecisionPlugin;

/// What a precision is made of.
struct PrecisionParts {
  c10::Device device = c10::kCPU;   ///< of the module
  bool sets_default_dtype = false;  ///< while a step runs, LibTorch's default dtype is that of the weights
};

/// The registry of precisions by name: `"precision": "bf16-mixed"`, or `{"class": "MyPrecision", ...}` with the options
/// of a class that has some.
struct PrecisionKind {
  struct Entry {
    at::ScalarType weights = at::kFloat;  ///< of float32 weights after convert_module
    std::function<std::unique_ptr<PrecisionPlugin>(const void* options, const PrecisionParts& parts)> make = {};

    std::unique_ptr<PrecisionPlugin> operator()(const void* options, const PrecisionParts& parts) const;
  };
  static Registry<Entry>& registry();
};

/// Adds precision class `P`, which is constructed from its parts and, if it has a nested `Options`, from its options.
/// If its convert_module changes the dtype of float32 weights, it has `static constexpr at::ScalarType kWeights`.
template <class P>
bool add_precision(Registry<PrecisionKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  PrecisionKind::Entry entry;
  if constexpr (requires { P::kWeights; }) entry.weights = P::kWeights;
  entry.make = [](const void* options, const PrecisionParts& parts) { return make_registered<P>(options, parts); };
  registry.add<OptionsOf<P>>(name, help, std::move(entry));
  return true;
}

}  // namespace levin

/// Registers a precision class for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_PRECISION(Class) \
  LEVIN_REGISTERED =                    \
      ::levin::add_precision<Class>(::levin::PrecisionKind::registry(), ::levin::detail::unqualified(#Class))
