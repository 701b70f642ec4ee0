#pragma once
#include <levin/core/run/metrics.h>

#include <optional>
#include <string>

namespace levin {

class Run;

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

/// Returns what to warn of when a fit ends, with `option` in front, if the metric never came though steps were made.
/// Returns nothing on other ranks than 0, and after a signal. Collective: all ranks call it.
std::optional<std::string> metric_never_came(Run& run, const std::string& option, const std::string& metric);

}  // namespace levin
