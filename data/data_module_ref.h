#pragma once
#include <concepts>
#include <cstdint>
#include <memory>

namespace levin::data {

class DataModule;
enum class DataMethod : int;

/// The methods that a data module's class overrides, one bit per DataMethod; all bits if its class is not known.
struct DataOverrides {
  uint64_t methods = ~uint64_t{0};
  constexpr bool has(DataMethod method) const { return (methods >> static_cast<int>(method)) & 1; }
};

/// Any kind of pointer to a data module.
template <class P>
concept DataModulePointer = requires(const P& pointer) {
  { *pointer } -> std::convertible_to<DataModule&>;
};

/// A data module and the methods that its class overrides, found at compile time. Converts implicitly from any data
/// module or pointer to one; shares ownership with a shared_ptr.
struct DataModuleRef {
  template <class D>
    requires std::derived_from<D, DataModule>
  DataModuleRef(D& data_module) : module(&data_module), overrides(overrides_of(data_module)) {}
  template <DataModulePointer P>
  DataModuleRef(const P& pointer) : module(checked(pointer ? &*pointer : nullptr)), overrides(overrides_of(*pointer)) {
    if constexpr (std::convertible_to<const P&, std::shared_ptr<DataModule>>) owner = pointer;
  }

  DataModule* module;
  DataOverrides overrides;
  std::shared_ptr<DataModule> owner = {};

 private:
  /// Throws levin::UsageError for null.
  static DataModule* checked(DataModule* module);
};

}  // namespace levin::data
