#pragma once
#include <levin/core/options/class_choice.h>

#include <string>
#include <utility>

namespace levin {

struct PrecisionKind;

/// The precision of a run, by PyTorch Lightning's names: 32, "32-true", 16, "16-mixed", "bf16-mixed", "16-true",
/// "bf16-true", 64, "64-true", or by the name of a registered class, with its options if it has some. 16 means
/// "16-mixed", "bf16" means "bf16-mixed". An unknown name is reported when the options are checked.
class Precision : public ClassChoice<PrecisionKind> {
 public:
  /// "32-true"
  Precision();
  /// Throws UsageError for other numbers than 16, 32 and 64.
  Precision(int bits);
  Precision(const char* name) : Precision(std::string(name)) {}
  Precision(const std::string& name);
  template <class Options>
  Precision(std::string name, Options options) : ClassChoice(std::move(name), std::move(options)) {}

  /// Returns the full name: "32-true", "16-mixed", ...
  const std::string& name() const { return class_name(); }
  /// Compares names and options.
  bool operator==(const Precision& other) const;
};

LEVIN_DECLARE_OPTION_TYPE(Precision);

}  // namespace levin
