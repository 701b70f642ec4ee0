#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin {

using Json = nlohmann::ordered_json;
class Schema;
class ClassList;

/// The values that an option allows; for a list, the values that each item may have.
struct Limits {
  std::optional<double> min = {}, max = {};
  /// Exclusive bounds.
  std::optional<double> exclusive_min = {}, exclusive_max = {};
  std::vector<std::string> choices = {};

  /// Returns "at least 0 and at most 1" or "one of norm, value"; empty if there are no limits.
  std::string to_text() const;
  /// Throws UsageError if a number is out of bounds or a text is not one of the choices.
  void check(const std::string& path, const Json& value) const;
};

/// Type-erased reading of one C++ type's values from JSON and text, and writing as JSON.
class OptionType {
 public:
  virtual ~OptionType() = default;
  /// Describes a value, for messages and help: "a whole number".
  virtual std::string expected() const = 0;
  virtual Json get(const void* value) const = 0;
  /// Throws UsageError whose text starts with `path`.
  virtual void set(void* value, const std::string& path, const Json& json, const Limits& limits) const = 0;
  /// Throws UsageError for a value, set in C++, that `set` would reject.
  virtual void check(const void* value, const std::string& path, const Limits& limits) const;
  /// Returns the JSON value for the text of a flag or environment variable.
  virtual Json from_text(const std::string& text) const;
  /// True if a flag may be given without a value, which then means true.
  virtual bool is_switch() const { return false; }
  /// Returns the nested options: of a nested struct, or of the class `class_name` of a part. Nullptr for plain values.
  virtual const Schema* inner(const std::string& /*class_name*/) const { return nullptr; }
  /// Returns the words that a value may be, of a type that has a few; otherwise none. They are choices of each option
  /// of the type.
  virtual std::vector<std::string> words() const { return {}; }
  /// Returns the classes to choose from, for an option whose value is chosen by name; otherwise nullptr.
  virtual const ClassList* classes() const { return nullptr; }
  /// Returns the type of a list's items or of an optional's value; nullptr for other types.
  virtual const OptionType* item() const { return nullptr; }
  /// True if the value is a list of `item`.
  virtual bool is_list() const { return false; }
  /// Returns the JSON Schema of the values that `set` accepts, without the limits; an empty object if any value may be
  /// valid. Types with `inner` or `item` do not override it; those with `classes` return what `set` accepts besides
  /// names and objects.
  virtual Json json_schema() const;
};

/// Throws UsageError "path: expected E, got V".
[[noreturn]] void throw_unexpected(const std::string& path, const std::string& expected, const Json& got);

/// Tells LEVIN_OPTION how to read a type. To add a type, declare `template <> struct OptionTraits<T> { static const
/// OptionType& type(); };` next to it and define `type()` in its .cpp with `ValueType`
/// (core/options/value_type.h).
template <class T>
struct OptionTraits;

template <class T>
concept OptionValue = requires { OptionTraits<T>::type(); };

#define LEVIN_DECLARE_OPTION_TYPE(T) \
  template <>                        \
  struct OptionTraits<T> {           \
    static const OptionType& type(); \
  }
LEVIN_DECLARE_OPTION_TYPE(bool);
LEVIN_DECLARE_OPTION_TYPE(int64_t);
LEVIN_DECLARE_OPTION_TYPE(double);
LEVIN_DECLARE_OPTION_TYPE(std::string);

/// A std::optional: null means unset.
class OptionalType : public OptionType {
 public:
  struct Access {
    const void* (*get)(const void* optional);  // returns nullptr if unset
    void* (*emplace)(void* optional);
    void (*reset)(void* optional);
  };
  OptionalType(const OptionType& item, Access access) : item_(item), access_(access) {}
  std::string expected() const override;
  Json get(const void* value) const override;
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override;
  void check(const void* value, const std::string& path, const Limits& limits) const override;
  Json from_text(const std::string& text) const override;
  bool is_switch() const override { return item_.is_switch(); }
  std::vector<std::string> words() const override { return item_.words(); }
  const Schema* inner(const std::string& class_name) const override { return item_.inner(class_name); }
  const ClassList* classes() const override { return item_.classes(); }
  const OptionType* item() const override { return &item_; }

 private:
  const OptionType& item_;
  Access access_;
};

/// A std::vector: a JSON list, or as text "a,b". Setting it replaces the whole list.
class ListType : public OptionType {
 public:
  struct Access {
    size_t (*size)(const void* list);
    const void* (*get)(const void* list, size_t index);
    void* (*append)(void* list);
    void (*clear)(void* list);
  };
  ListType(const OptionType& item, Access access) : item_(item), access_(access) {}
  std::string expected() const override;
  Json get(const void* value) const override;
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override;
  void check(const void* value, const std::string& path, const Limits& limits) const override;
  Json from_text(const std::string& text) const override;
  std::vector<std::string> words() const override { return item_.words(); }
  /// Returns the classes of the items; their options are in the list.
  const ClassList* classes() const override { return item_.classes(); }
  const OptionType* item() const override { return &item_; }
  bool is_list() const override { return true; }

 private:
  const OptionType& item_;
  Access access_;
};

/// A nested options struct.
class StructType : public OptionType {
 public:
  explicit StructType(const Schema& schema) : schema_(schema) {}
  std::string expected() const override { return "an object"; }
  Json get(const void* value) const override;
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override;
  void check(const void* value, const std::string& path, const Limits& limits) const override;
  const Schema* inner(const std::string& /*class_name*/) const override { return &schema_; }

 private:
  const Schema& schema_;
};

template <OptionValue T>
struct OptionTraits<std::optional<T>> {
  static const OptionType& type() {
    using Optional = std::optional<T>;
    static const OptionalType type(
        OptionTraits<T>::type(), {[](const void* optional) -> const void* {
                                    const auto& value = *static_cast<const Optional*>(optional);
                                    return value ? &*value : nullptr;
                                  },
                                  [](void* optional) -> void* { return &static_cast<Optional*>(optional)->emplace(); },
                                  [](void* optional) { static_cast<Optional*>(optional)->reset(); }});
    return type;
  }
};

template <OptionValue T>
  requires(!std::is_same_v<T, bool>)
struct OptionTraits<std::vector<T>> {
  static const OptionType& type() {
    using List = std::vector<T>;
    static const ListType type(
        OptionTraits<T>::type(),
        {[](const void* list) { return static_cast<const List*>(list)->size(); },
         [](const void* list, size_t i) -> const void* { return &(*static_cast<const List*>(list))[i]; },
         [](void* list) -> void* { return &static_cast<List*>(list)->emplace_back(); },
         [](void* list) { static_cast<List*>(list)->clear(); }});
    return type;
  }
};

}  // namespace levin
