#pragma once
#include <levin/core/options/option_type.h>

#include <string>

namespace levin {

/// The precision of a run, by PyTorch Lightning's names: 32, "32-true", 16, "16-mixed", "bf16-mixed", "16-true",
/// "bf16-true", 64, "64-true". 16 means "16-mixed", "bf16" means "bf16-mixed". Throws UsageError for other names.
class Precision {
 public:
  Precision() = default;
  Precision(int bits) : Precision(std::to_string(bits)) {}
  Precision(const char* name) : Precision(std::string(name)) {}
  Precision(const std::string& name);

  /// Returns the full name: "32-true", "16-mixed", ...
  const std::string& name() const { return name_; }
  bool operator==(const Precision&) const = default;

 private:
  std::string name_ = "32-true";
};

LEVIN_DECLARE_OPTION_TYPE(Precision);

}  // namespace levin
