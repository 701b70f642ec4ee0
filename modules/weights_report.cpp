#include <levin/modules/weights_report.h>

#include <algorithm>

namespace levin {
namespace {

/// Appends `kind` and the first names of `weights`, each formatted by `describe`; appends nothing if `weights` is
/// empty.
template <class Describe>
void append_kind(std::string& text, const std::string& kind, const std::vector<MismatchedWeight>& weights,
                 Describe describe) {
  constexpr size_t kShown = 10;
  if (weights.empty()) return;
  text += "\n  " + kind + ": ";
  for (size_t i = 0; i < std::min(weights.size(), kShown); ++i)
    text += (i ? ", " : "") + weights[i].name + describe(weights[i]);
  if (weights.size() > kShown) text += " and " + std::to_string(weights.size() - kShown) + " more";
}

bool is_shape(const std::string& found) { return found.starts_with("["); }

}  // namespace

std::string WeightsReport::text() const {
  std::vector<MismatchedWeight> of_another_shape, no_tensors;
  for (const MismatchedWeight& weight : mismatched)
    (is_shape(weight.found) ? of_another_shape : no_tensors).push_back(weight);
  std::string text;
  append_kind(text, "missing", missing, [](const MismatchedWeight& weight) { return " " + weight.expected; });
  append_kind(text, "of another shape", of_another_shape, [](const MismatchedWeight& weight) {
    return " (is " + weight.found + ", the module's is " + weight.expected + ")";
  });
  append_kind(text, "not a tensor", no_tensors,
              [](const MismatchedWeight& weight) { return " (" + weight.found + ")"; });
  append_kind(text, "unexpected", unexpected, [](const MismatchedWeight& weight) {
    return is_shape(weight.found) ? " " + weight.found : " (" + weight.found + ")";
  });
  return text;
}

}  // namespace levin
