#pragma once
#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>
#include <levin/data/transforms/transform.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace levin::data {

/// Transforms by name, for options such as `std::vector<ClassChoice<TransformKind>> transforms`.
struct TransformKind {
  using Entry = std::function<TransformPtr(const void* options)>;
  static Registry<Entry>& registry();
};

/// Adds transform class `T`, constructed from its nested `Options` if it has one, otherwise default-constructed.
template <std::derived_from<Transform> T>
bool add_transform(Registry<TransformKind::Entry>& registry, const std::string& name, const std::string& help = "") {
  registry.add<OptionsOf<T>>(name, help, [](const void* options) { return make_registered<T>(options); });
  return true;
}

/// Makes the transforms, to be applied in sequence; null for an empty list. `path` names the option in errors
/// ("data.transforms"). Throws levin::UsageError for an unknown name and for options that a transform refuses.
TransformPtr make_transforms(const std::vector<ClassChoice<TransformKind>>& parts, const std::string& path);

}  // namespace levin::data

/// Registers a transform class for configs. Use it at namespace scope in a .cpp; the name may be qualified.
#define LEVIN_REGISTER_TRANSFORM(Class)                                                            \
  LEVIN_REGISTERED = ::levin::data::add_transform<Class>(::levin::data::TransformKind::registry(), \
                                                         ::levin::detail::unqualified(#Class))
