#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <string>

namespace levin {

/// PyTorch Lightning's `deterministic`: false, true (an operation without a deterministic algorithm throws), or "warn"
/// (such an operation warns and runs).
class Deterministic {
 public:
  enum class Mode { Off, Warn, On };

  Deterministic() = default;
  template <std::same_as<bool> B>
  Deterministic(B on) : mode_(on ? Mode::On : Mode::Off) {}
  /// Accepts "warn". Throws UsageError for any other text.
  Deterministic(const std::string& text);
  Deterministic(const char* text) : Deterministic(std::string(text)) {}

  explicit operator bool() const { return mode_ != Mode::Off; }
  Mode mode() const { return mode_; }
  bool operator==(const Deterministic&) const = default;

 private:
  Mode mode_ = Mode::Off;
};

LEVIN_DECLARE_OPTION_TYPE(Deterministic);

}  // namespace levin
