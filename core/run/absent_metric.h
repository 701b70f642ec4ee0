#pragma once
#include <levin/core/run/metrics.h>

#include <string>

namespace levin {

/// Returns the error text "no metric 'x' was logged; there are: a, b".
inline std::string absent_metric(const std::string& name, const Metrics& logged) {
  std::string text = "no metric '" + name + "' was logged";
  const char* before = "; there are: ";
  for (const auto& entry : logged) {
    text += before + entry.first;
    before = ", ";
  }
  return text;
}

}  // namespace levin
