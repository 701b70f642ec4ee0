#pragma once
#include <levin/modules/metrics/metric.h>

#include <cstddef>
#include <string>
#include <vector>

namespace levin::metrics {

/// A predicted text, and the texts that it may be.
struct TextPair {
  std::string pred = {};
  std::vector<std::string> targets = {};  ///< at least one
};

/// The base class of metrics of texts in UTF-8. `update` compares texts on the host and counts numbers, which are
/// summed over batches and ranks. compute: a float64 scalar.
class TextMetric : public Metric {
 public:
  /// Counts predicted texts and their targets, as many of each. Throws levin::UsageError for other numbers.
  void update(const std::vector<std::string>& preds, const std::vector<std::string>& target);
  /// Counts predicted texts and the texts that each may be, at least one.
  void update(const std::vector<std::string>& preds, const std::vector<std::vector<std::string>>& targets);
  /// Counts texts and returns the value of these alone.
  at::Tensor forward(const std::vector<std::string>& preds, const std::vector<std::string>& target);
  at::Tensor operator()(const std::vector<std::string>& preds, const std::vector<std::string>& target) {
    return forward(preds, target);
  }

 protected:
  /// `metric` is the name for error messages, `counts` how many numbers are summed.
  TextMetric(const char* metric, size_t counts);
  /// Adds the counts of one text to `counts`.
  virtual void add(const TextPair& texts, std::vector<double>& counts) const = 0;
  /// Returns the value of all counts.
  virtual double value(const std::vector<double>& counts) const = 0;
  const char* metric() const { return metric_; }

  void update_inputs(at::TensorList inputs) final;
  at::Tensor compute_value() const final;

 private:
  at::Tensor counts_of(const std::vector<std::string>& preds,
                       const std::vector<std::vector<std::string>>& targets) const;

  const char* metric_;
  size_t number_of_counts_;
  size_t counts_;
};

}  // namespace levin::metrics
