#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace levin::metrics {

/// What a module learns to predict, and so which metrics can measure it.
enum class Learned : uint8_t {
  Binary,        ///< preds and target of one shape
  Multiclass,    ///< preds [samples, classes, ...], target [samples, ...]
  Multilabel,    ///< preds and target [samples, labels, ...]
  Segmentation,  ///< as Multiclass, with the places of images behind
  Tokens,        ///< preds [samples, time, vocabulary], target [samples, time]
  Numbers        ///< preds and target [samples] or [samples, outputs]
};

/// What a module tells of its predictions. Metrics take from it what a config leaves open.
struct MetricTask {
  Learned learned = Learned::Numbers;
  int64_t columns = 1;                       ///< classes, labels, tokens of the vocabulary, or outputs
  std::optional<int64_t> ignore_index = {};  ///< targets that do not count
  std::string module = "the module";         ///< its name, for error messages
};

}  // namespace levin::metrics
