#pragma once
#include <levin/core/options/option_type.h>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Options written once: name, default, help and limits are all given in the default member initializer.
///
///     struct Options {
///       double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
///       std::vector<double> betas = LEVIN_OPTION(betas, {0.9, 0.999}, "Decay of the two averages");
///       std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed; unset means the run's");
///       AugmentOptions augment = LEVIN_OPTION(augment, {}, "Changes to the training images");  // nested: augment.flip
///     };
///
/// The struct stays an aggregate. JSON, flags, the environment, `--help` and `levin config show` are all derived from
/// it. A field may have any type with OptionTraits: bool, int64_t, double, std::string, a std::vector or std::optional
/// of them, another options struct, a `ClassChoice<Kind>` (core/options/class_choice.h), and every type that
/// declares its own. A field without LEVIN_OPTION can be set in C++ only; if it is an options struct, its options are
/// added flat to the outer struct.
#define LEVIN_OPTION(name, ...) ::levin::detail::option(&name, #name, __VA_ARGS__)

namespace levin {

/// One option of a struct.
struct Field {
  std::string name = {}, help = {};
  Limits limits = {};
  /// Offset in bytes from the start of the struct.
  std::ptrdiff_t offset = 0;
  const OptionType* type = nullptr;

  void* in(void* options) const { return static_cast<std::byte*>(options) + offset; }
  const void* in(const void* options) const { return static_cast<const std::byte*>(options) + offset; }
};

/// All options of a struct `O`, in declaration order; made by `schema_of<O>()`. Every `options` argument points to an
/// `O`.
class Schema {
 public:
  using Make = std::shared_ptr<void> (*)(const void* copied_from);
  Schema(std::vector<Field> fields, Make maker) : fields_(std::move(fields)), make_(maker) {}

  const std::vector<Field>& fields() const { return fields_; }
  /// Returns the field of that name, or nullptr.
  const Field* find(const std::string& name) const;
  std::vector<std::string> names() const;

  /// Sets the options that the JSON object `values` names and leaves the others. `path` is the object's place in the
  /// config ("trainer"). Throws UsageError naming `path.key`, the value and what is allowed; for an unknown key it
  /// names the nearest option.
  void set(void* options, const std::string& path, const Json& values) const;
  /// Returns all options as a JSON object that `set` accepts.
  Json get(const void* options) const;
  /// Checks values that were set in C++ against the limits. Throws UsageError as `set` does.
  void check(const void* options, const std::string& path) const;

  /// Makes a new `O()`.
  std::shared_ptr<void> make() const { return make_(nullptr); }
  std::shared_ptr<void> copy(const void* options) const { return make_(options); }
  Json defaults() const;

 private:
  std::vector<Field> fields_;
  Make make_;
};

/// The limits that LEVIN_OPTION is given. They own no memory, because a field is recorded once and its struct is
/// constructed often.
struct GivenLimits {
  std::optional<double> min = {}, max = {};
  std::optional<double> exclusive_min = {}, exclusive_max = {};  ///< exclusive bounds
  std::initializer_list<const char*> choices = {};
  std::vector<std::string> (*choices_of)() = nullptr;  ///< returns the choices, in place of `choices`
};

/// Returns `path.key`, or `key` if the path is empty.
std::string join_path(const std::string& path, const std::string& key);

namespace detail {

bool recording() noexcept;
void record(const void* where, const char* name, const char* help, const GivenLimits& limits, const OptionType& type);
/// Calls `construct_and_destroy(object)`; every LEVIN_OPTION of the object records itself meanwhile.
Schema record_schema(size_t size, void* object, void (*construct_and_destroy)(void*), Schema::Make maker);

// `T*`, not `const T*`: g++ treats a pointer to const as a read and warns with -Wmaybe-uninitialized. Inlined for each
// field, it would make the constructor of TrainerOptions ten times as large, in each file that has one.
template <OptionValue T>
[[gnu::noinline]] T option(T* where, const char* name, std::type_identity_t<T> value, const char* help,
                           const GivenLimits& limits = {}) {
  if (recording()) record(where, name, help, limits, OptionTraits<T>::type());
  return value;
}

template <class O>
std::shared_ptr<void> make_options(const void* copied_from) {
  return copied_from ? std::make_shared<O>(*static_cast<const O*>(copied_from)) : std::make_shared<O>();
}

}  // namespace detail

/// Returns the schema of an options struct, made once from a default-constructed object. Throws Error if two options
/// have the same name.
template <std::default_initializable O>
const Schema& schema_of() {
  static const Schema schema = [] {
    alignas(O) std::byte object[sizeof(O)];
    return detail::record_schema(
        sizeof(O), object, [](void* where) { (new (where) O())->~O(); }, detail::make_options<O>);
  }();
  return schema;
}

/// The options of a class without options.
struct NoOptions {};

/// A nested options struct: a JSON object.
template <class T>
  requires(std::is_aggregate_v<T> && std::is_class_v<T> && std::default_initializable<T>)
struct OptionTraits<T> {
  static const OptionType& type() {
    static const StructType type(schema_of<T>());
    return type;
  }
};

}  // namespace levin
