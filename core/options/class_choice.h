#pragma once
#include <levin/core/options/option.h>

#include <memory>
#include <string>
#include <utility>

namespace levin {

/// The value of an option that is chosen by name: a class name and that class's options, with value semantics. See
/// ClassChoice.
class PartValue {
 public:
  /// Returns the chosen class; empty if none is chosen.
  const std::string& class_name() const { return class_name_; }
  explicit operator bool() const { return !class_name_.empty(); }

  /// Returns the options of the class: those given, or its defaults. Throws UsageError if `classes` lacks the name or
  /// the options are another class's.
  std::shared_ptr<const void> options(const ClassList& classes, const std::string& path) const;

 protected:
  PartValue() = default;
  /// Throws UsageError if nothing is chosen.
  void require(const ClassList& classes, const std::string& path) const;
  PartValue(std::string name, std::shared_ptr<const void> values, const Schema* schema)
      : class_name_(std::move(name)), options_(std::move(values)), schema_(schema) {}

 private:
  friend class PartType;
  std::string class_name_ = {};
  std::shared_ptr<const void> options_ = {};  // never changed in place: copies of the part share it
  const Schema* schema_ = nullptr;            // of options_
};

/// An option whose value is chosen by name: `{"class": "AdamW", "lr": 0.001}` or `"AdamW"` in JSON.
///
///     struct Options {  // "optimizer" in a config, --model.optimizer.lr as a flag
///       ClassChoice<OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"AdamW"}, "Optimizer");
///       ClassChoice<LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset:
///       none");
///     };
///     Options o{.optimizer = {"SGD", optim::SGDOptions{.lr = 0.1, .momentum = 0.9}}};             // the same in C++
///     auto optimizer = o.optimizer.make("model.optimizer", parameters());
///
/// `Kind` has `using Entry = std::function<Product(const void* options, Args...)>` and
/// `static Registry<Entry>& registry()`. Several by name: `std::vector<ClassChoice<Kind>>`.
template <class Kind>
class ClassChoice : public PartValue {
 public:
  /// Nothing chosen.
  ClassChoice() = default;
  /// A class with its default options. An unknown name is reported when the options are checked or the object is made.
  ClassChoice(const char* name) : PartValue(name, nullptr, nullptr) {}
  ClassChoice(std::string name) : PartValue(std::move(name), nullptr, nullptr) {}
  /// A class with its own options struct.
  template <class Options>
  ClassChoice(std::string name, Options values)
      : PartValue(std::move(name), std::make_shared<Options>(std::move(values)), &schema_of<Options>()) {}

  /// Makes the object. `path` names the option in errors ("model.optimizer"); it is an error if nothing is chosen.
  template <class... Args>
  auto make(const std::string& path, Args&&... args) const {
    require(Kind::registry(), path);
    const auto& entry = Kind::registry().entry(class_name(), join_path(path, "class"));
    const std::shared_ptr<const void> chosen = options(Kind::registry(), path);
    return entry(chosen.get(), std::forward<Args>(args)...);
  }
};

/// Reads and writes a ClassChoice: a JSON object with "class" and that class's options, a class name, or null. An
/// object that names another class than the present one starts from that class's defaults.
class PartType : public OptionType {
 public:
  /// `classes_of` is called when it is first needed.
  explicit PartType(const ClassList& (*classes_of)()) : registry_(classes_of) {}
  std::string expected() const override;
  Json get(const void* value) const override;
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override;
  void check(const void* value, const std::string& path, const Limits& limits) const override;
  Json from_text(const std::string& text) const override;
  const Schema* inner(const std::string& class_name) const override;
  const ClassList* classes() const override { return &registry_(); }

 private:
  const ClassList& (*registry_)();
};

/// Returns the type of a choice of this kind. A header that only names the kind declares its option type
/// (LEVIN_DECLARE_OPTION_TYPE), and the .cpp of the registry defines `type()` by this function.
template <class Kind>
const OptionType& part_type() {
  // PartType reads the PartValue, which is the part's only member.
  static_assert(sizeof(ClassChoice<Kind>) == sizeof(PartValue));
  static const PartType type([]() -> const ClassList& { return Kind::registry(); });
  return type;
}

template <class Kind>
struct OptionTraits<ClassChoice<Kind>> {
  static const OptionType& type() { return part_type<Kind>(); }
};

}  // namespace levin
