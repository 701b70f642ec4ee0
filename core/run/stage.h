#pragma once

namespace levin {

/// What a run is doing.
enum class Stage { Fit, SanityCheck, Validate, Test, Predict };

/// Returns "fit", "sanity_check", "validate", "test" or "predict".
constexpr const char* to_string(Stage stage) {
  constexpr const char* kNames[] = {"fit", "sanity_check", "validate", "test", "predict"};
  return kNames[static_cast<int>(stage)];
}

}  // namespace levin
