#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>
#include <levin/modules/nn/class_layout.h>

#include <cstdint>
#include <string>

namespace levin {

/// What is measured of an output besides the loss.
enum class OutputMetric : uint8_t {
  None,
  Accuracy,  ///< of classes; logged as acc
  MeanAbsoluteError,
  MeanSquaredError  ///< logged as mae and mse
};
template <>
inline constexpr auto kWords<OutputMetric> =
    words_of<OutputMetric>({{"none", OutputMetric::None},
                            {"accuracy", OutputMetric::Accuracy},
                            {"mean_absolute_error", OutputMetric::MeanAbsoluteError},
                            {"mean_squared_error", OutputMetric::MeanSquaredError}});

/// What an output was measured to be.
struct OutputScore {
  std::string name = {};  ///< acc, mae or mse
  at::Tensor value = {};  ///< a scalar
  int64_t counted = 0;    ///< targets that `value` is the mean of; for errors the samples of the batch: 0
  bool is_shown = false;  ///< in the progress bar
};

/// Measures `output` against `target`. An accuracy of no target that counts is undefined. Throws levin::UsageError that
/// begins with model.metric for tensors that the metric does not compare. `metric` is not None.
OutputScore measure_output(OutputMetric metric, const at::Tensor& output, const at::Tensor& target,
                           ClassDimension classes);

}  // namespace levin
