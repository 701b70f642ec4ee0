#pragma once
#include <levin/core/options/choice.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>

namespace levin {
namespace metrics {

/// How the values of rows become one value; None: one value each.
enum class RowReduction : uint8_t { Sum, Mean, None };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::RowReduction> =
    words_of<metrics::RowReduction>({{"sum", metrics::RowReduction::Sum},
                                     {"mean", metrics::RowReduction::Mean},
                                     {"none", metrics::RowReduction::None}});

namespace metrics {

/// The base class of metrics with one value for each row of a batch. Only the sum of the values is kept, or with
/// reduction None all of them. compute: a scalar (NaN for the mean of no rows), or [rows]; float64.
class RowMetric : public Metric {
 public:
  explicit RowMetric(RowReduction reduction);

 protected:
  /// Counts the values of some rows, [rows].
  void count(const at::Tensor& values);
  at::Tensor compute_value() const override;

 private:
  RowReduction reduction_;
  size_t total_ = 0, count_ = 0, values_ = 0;
};

}  // namespace metrics
}  // namespace levin
