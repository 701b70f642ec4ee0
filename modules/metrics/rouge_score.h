#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/text_metric.h>

#include <cstdint>
#include <string_view>

namespace levin {
namespace metrics {

/// What ROUGEScore compares: words, pairs of words, or the longest common subsequence of words.
enum class RougeKey : uint8_t { Rouge1, Rouge2, RougeL };
/// Which of the values of ROUGEScore is returned.
enum class RougeValue : uint8_t { FMeasure, Precision, Recall };
/// What several targets of a text count as: the best one, or their mean.
enum class RougeAccumulate : uint8_t { Best, Avg };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::RougeKey> = words_of<metrics::RougeKey>({{"rouge1", metrics::RougeKey::Rouge1},
                                                                               {"rouge2", metrics::RougeKey::Rouge2},
                                                                               {"rougeL", metrics::RougeKey::RougeL}});
template <>
inline constexpr auto kWords<metrics::RougeValue> =
    words_of<metrics::RougeValue>({{"fmeasure", metrics::RougeValue::FMeasure},
                                   {"precision", metrics::RougeValue::Precision},
                                   {"recall", metrics::RougeValue::Recall}});
template <>
inline constexpr auto kWords<metrics::RougeAccumulate> = words_of<metrics::RougeAccumulate>(
    {{"best", metrics::RougeAccumulate::Best}, {"avg", metrics::RougeAccumulate::Avg}});

namespace metrics {

/// Arguments of ROUGEScore. torchmetrics returns a dictionary of several keys; here a metric has one of its values.
struct ROUGEScoreOptions {
  Choice<RougeKey> rouge_key = LEVIN_OPTION(
      rouge_key, RougeKey::RougeL, "What is compared: words, pairs of words, or the longest common subsequence");
  Choice<RougeValue> value = LEVIN_OPTION(value, RougeValue::FMeasure, "Which value is returned");
  Choice<RougeAccumulate> accumulate =
      LEVIN_OPTION(accumulate, RougeAccumulate::Best, "What several targets of a text count as");
};

/// The mean over texts of the precision, the recall or the F-measure of what they share with their targets. Words are
/// sequences of the letters a to z, in lower case, and digits. NaN without a text.
/// Source: Lin (2004), https://lightning.ai/docs/torchmetrics/stable/text/rouge_score.html
class ROUGEScore final : public Cloneable<ROUGEScore, TextMetric> {
 public:
  using Options = ROUGEScoreOptions;
  /// Throws levin::UsageError for bad options.
  explicit ROUGEScore(Options options = {});

 private:
  void add(const TextPair& texts, std::vector<double>& counts) const override;
  double value(const std::vector<double>& counts) const override;

  Options options_;
};

}  // namespace metrics
}  // namespace levin
