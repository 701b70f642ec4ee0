#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace levin {
namespace metrics {

/// What a query without relevant documents counts as: 0, 1, nothing, or an error.
enum class EmptyTarget : uint8_t { Neg, Pos, Skip, Error };
/// How the values of queries become one value.
enum class QueryAggregation : uint8_t { Mean, Median, Min, Max };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::EmptyTarget> =
    words_of<metrics::EmptyTarget>({{"neg", metrics::EmptyTarget::Neg},
                                    {"pos", metrics::EmptyTarget::Pos},
                                    {"skip", metrics::EmptyTarget::Skip},
                                    {"error", metrics::EmptyTarget::Error}});
template <>
inline constexpr auto kWords<metrics::QueryAggregation> =
    words_of<metrics::QueryAggregation>({{"mean", metrics::QueryAggregation::Mean},
                                         {"median", metrics::QueryAggregation::Median},
                                         {"min", metrics::QueryAggregation::Min},
                                         {"max", metrics::QueryAggregation::Max}});

namespace metrics {

/// Arguments of the metrics of retrieval, with torchmetrics' names and defaults.
struct RetrievalOptions {
  Choice<EmptyTarget> empty_target_action = LEVIN_OPTION(
      empty_target_action, EmptyTarget::Neg, "A query without relevant documents is 0, 1, skipped or an error");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
  std::optional<int64_t> top_k = LEVIN_OPTION(top_k, {}, "Documents with the highest scores that count", {.min = 1});
  Choice<QueryAggregation> aggregation =
      LEVIN_OPTION(aggregation, QueryAggregation::Mean, "How the values of queries become one value");
};

/// Documents of one query.
struct QueryDocuments {
  std::vector<double> preds = {};
  std::vector<int64_t> target = {};
};

/// The base class of metrics of retrieval.
///
/// `update` takes preds (floating scores of documents), target (bool or integers: relevance) and indexes (integers: the
/// query that each document belongs to), all of one shape. All of them are kept; compute reads them on the host.
/// compute: a scalar; 0 without a query.
class RetrievalMetric : public Metric {
 public:
  /// Throws levin::UsageError for bad options; `metric` is the name for error messages.
  RetrievalMetric(const char* metric, RetrievalOptions options);

 protected:
  /// Returns the value of a query that has a relevant document; the first `top_k` documents by score count.
  virtual double score(const QueryDocuments& query, size_t top_k) const = 0;
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

 private:
  std::optional<double> value_of(const QueryDocuments& query) const;

  const char* metric_;
  RetrievalOptions options_;
  size_t preds_, target_, indexes_;
};

/// The mean over relevant documents of the precision at their places. Inputs and result: see RetrievalMetric.
/// Source: https://lightning.ai/docs/torchmetrics/stable/retrieval/map.html
class RetrievalMAP final : public Cloneable<RetrievalMAP, RetrievalMetric> {
 public:
  using Options = RetrievalOptions;
  explicit RetrievalMAP(Options options = {}) : Cloneable("RetrievalMAP", options) {}

 private:
  double score(const QueryDocuments& query, size_t top_k) const override;
};

/// 1 / place of the first relevant document. Inputs and result: see RetrievalMetric.
/// Source: https://lightning.ai/docs/torchmetrics/stable/retrieval/mrr.html
class RetrievalMRR final : public Cloneable<RetrievalMRR, RetrievalMetric> {
 public:
  using Options = RetrievalOptions;
  explicit RetrievalMRR(Options options = {}) : Cloneable("RetrievalMRR", options) {}

 private:
  double score(const QueryDocuments& query, size_t top_k) const override;
};

/// The gain of the ranking, each relevance divided by log2(1 + place), divided by that of the best ranking. Documents
/// of equal scores share their places. Inputs and result: see RetrievalMetric. Source:
/// https://lightning.ai/docs/torchmetrics/stable/retrieval/normalized_dcg.html
class RetrievalNormalizedDCG final : public Cloneable<RetrievalNormalizedDCG, RetrievalMetric> {
 public:
  using Options = RetrievalOptions;
  explicit RetrievalNormalizedDCG(Options options = {}) : Cloneable("RetrievalNormalizedDCG", options) {}

 private:
  double score(const QueryDocuments& query, size_t top_k) const override;
};

}  // namespace metrics
}  // namespace levin
