#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/text_metric.h>

#include <cstdint>

namespace levin {
namespace metrics {

/// How the distances of texts become one value.
enum class TextReduction : uint8_t { Mean, Sum };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::TextReduction> =
    words_of<metrics::TextReduction>({{"mean", metrics::TextReduction::Mean}, {"sum", metrics::TextReduction::Sum}});

namespace metrics {

/// The error rates of words and characters have no options.
struct ErrorRateOptions {};

/// Edits of words that turn the prediction into the target, divided by the words of the target. Words are what white
/// space separates. NaN without a word of a target.
/// Source: https://lightning.ai/docs/torchmetrics/stable/text/word_error_rate.html
class WordErrorRate final : public Cloneable<WordErrorRate, TextMetric> {
 public:
  using Options = ErrorRateOptions;
  explicit WordErrorRate(Options = {}) : Cloneable("WordErrorRate", 2) {}

 private:
  void add(const TextPair& texts, std::vector<double>& counts) const override;
  double value(const std::vector<double>& counts) const override;
};

/// Edits of characters (code points) divided by the characters of the target. NaN without a character of a target.
/// Source: https://lightning.ai/docs/torchmetrics/stable/text/char_error_rate.html
class CharErrorRate final : public Cloneable<CharErrorRate, TextMetric> {
 public:
  using Options = ErrorRateOptions;
  explicit CharErrorRate(Options = {}) : Cloneable("CharErrorRate", 2) {}

 private:
  void add(const TextPair& texts, std::vector<double>& counts) const override;
  double value(const std::vector<double>& counts) const override;
};

/// Arguments of EditDistance, with torchmetrics' names and defaults.
struct EditDistanceOptions {
  int64_t substitution_cost = LEVIN_OPTION(substitution_cost, 1, "Cost of another character", {.min = 0});
  Choice<TextReduction> reduction = LEVIN_OPTION(reduction, TextReduction::Mean, "How texts become one value");
};

/// Edits of characters (code points) that turn the prediction into the target. NaN for the mean of no texts.
/// Source: https://lightning.ai/docs/torchmetrics/stable/text/edit.html
class EditDistance final : public Cloneable<EditDistance, TextMetric> {
 public:
  using Options = EditDistanceOptions;
  /// Throws levin::UsageError for bad options.
  explicit EditDistance(Options options = {});

 private:
  void add(const TextPair& texts, std::vector<double>& counts) const override;
  double value(const std::vector<double>& counts) const override;

  Options options_;
};

}  // namespace metrics
}  // namespace levin
