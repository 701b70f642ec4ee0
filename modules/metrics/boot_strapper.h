#pragma once
#include <ATen/core/Generator.h>
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/wrapper_metric.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {
namespace metrics {

/// How often BootStrapper draws each sample of a batch: by a Poisson distribution of mean 1, or so that the batch keeps
/// its size.
enum class SamplingStrategy : uint8_t { Poisson, Multinomial };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::SamplingStrategy> = words_of<metrics::SamplingStrategy>(
    {{"poisson", metrics::SamplingStrategy::Poisson}, {"multinomial", metrics::SamplingStrategy::Multinomial}});

namespace metrics {

/// Arguments of BootStrapper, with torchmetrics' names and defaults, and a seed.
struct BootStrapperOptions {
  int64_t num_bootstraps = LEVIN_OPTION(
      num_bootstraps, 10, "Copies of the metric, each of samples that are drawn again", {.min = 2, .max = 10000});
  bool mean = LEVIN_OPTION(mean, true, "Give the mean of the copies' values");
  bool std = LEVIN_OPTION(std, true, "Give their standard deviation");
  std::optional<double> quantile =
      LEVIN_OPTION(quantile, {}, "Give this quantile of them; unset: none", {.min = 0, .max = 1});
  bool raw = LEVIN_OPTION(raw, false, "Give all of them");
  Choice<SamplingStrategy> sampling_strategy =
      LEVIN_OPTION(sampling_strategy, SamplingStrategy::Poisson,
                   "How often a sample is drawn: poisson, or multinomial, which keeps the size of the batch");
  int64_t seed = LEVIN_OPTION(seed, 0, "Seed of the draws", {.min = 0});
};

/// How far the value of another metric is certain: its mean and its standard deviation over copies of the metric, each
/// of which counts every batch with samples drawn again along the first dimension.
///
/// compute: float64 [values], in this order the mean, the standard deviation, the quantile and all values of the
/// copies, as far as the options ask for them. The draws are the metric's own, those that torchmetrics makes after
/// torch.manual_seed(seed): other random numbers do not depend on them. The other metric has a single value.
/// Source: Efron (1979), https://lightning.ai/docs/torchmetrics/stable/wrappers/bootstrapper.html
class BootStrapper final : public Cloneable<BootStrapper, WrapperMetric> {
 public:
  using Options = BootStrapperOptions;
  /// Takes copies of `metric`. Throws levin::UsageError for bad options.
  explicit BootStrapper(const Metric& metric, Options options = {}) : BootStrapper(metric.clone(), options) {}
  explicit BootStrapper(const std::shared_ptr<Metric>& metric, Options options = {});
  BootStrapper(const BootStrapper& other);
  BootStrapper& operator=(const BootStrapper& other);

  State state_dict() const override;
  void load_state_dict(const State& state) override;
  void prepend_state_dict(const State& earlier) override;
  std::vector<std::string> value_names() const override;
  void use_stream(int64_t stream) override;

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;
  at::Tensor drawn(int64_t samples);

  Options options_;
  at::Generator generator_;
  int64_t stream_ = 0;
  int64_t updates_ = 0;  ///< that have drawn from this stream
};

}  // namespace metrics
}  // namespace levin
