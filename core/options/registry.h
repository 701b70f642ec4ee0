#pragma once
#include <levin/core/options/class_list.h>
#include <levin/core/options/option.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace levin {

/// Classes of one kind by name, each with the schema of its options and an `Entry` that makes objects.
///
/// Each kind has one registry, a function-local static that first registers levin's own classes (static objects vanish
/// from static libraries, so they do not register themselves). modules/optim/registry.h is an example.
template <class Entry>
class Registry : public ClassList {
 public:
  using ClassList::ClassList;

  /// Adds the class `name` with the options struct `Options`. If the name is taken, `raise_duplicate_registrations`
  /// reports it.
  template <class Options>
  void add(std::string name, std::string help, Entry entry) {
    const size_t index = ClassList::add({std::move(name), std::move(help), &schema_of<Options>});
    if (index == entries_.size()) entries_.push_back(std::move(entry));
  }

  /// Returns the entry of class `name`. Throws UsageError that starts with `path`, names the nearest class, and says
  /// how to list all classes.
  const Entry& entry(const std::string& name, const std::string& path) const {
    const ClassInfo* wanted = &at(name, path);
    size_t index = 0;
    while (&classes()[index] != wanted) ++index;
    return entries_[index];
  }

 private:
  std::deque<Entry> entries_ = {};
};

namespace detail {

template <class T>
struct OptionsOf {
  using type = NoOptions;
};
template <class T>
  requires requires { typename T::Options; }
struct OptionsOf<T> {
  using type = typename T::Options;
};

/// Returns the part of a qualified name after the last "::".
inline std::string unqualified(const std::string& name) {
  const size_t colon = name.rfind("::");
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

}  // namespace detail

/// `T::Options`, or NoOptions if the class has none.
template <class T>
using OptionsOf = typename detail::OptionsOf<T>::type;

/// Makes a `T` from `args` and, unless it has none, from the options that an entry of a registry is given.
template <class T, class Options = OptionsOf<T>, class... Args>
std::unique_ptr<T> make_registered([[maybe_unused]] const void* options, Args&&... args) {
  if constexpr (std::is_same_v<Options, NoOptions>)
    return std::make_unique<T>(std::forward<Args>(args)...);
  else
    return std::make_unique<T>(std::forward<Args>(args)..., *static_cast<const Options*>(options));
}

}  // namespace levin

#define LEVIN_CONCAT_(a, b) a##b
#define LEVIN_CONCAT(a, b) LEVIN_CONCAT_(a, b)
/// Begins a registration at namespace scope.
#define LEVIN_REGISTERED [[maybe_unused]] static const bool LEVIN_CONCAT(levin_registered_, __COUNTER__)
