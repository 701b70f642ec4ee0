#include <levin/modules/metrics/boot_strapper.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/poisson.h>
#include <ATen/ops/quantile.h>
#include <ATen/ops/tensor.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/single_value.h>

#include <utility>

namespace levin::metrics {
namespace {

int64_t checked_copies(const BootStrapperOptions& options) {
  schema_of<BootStrapperOptions>().check(&options, "BootStrapper");
  if (!options.mean && !options.std && !options.quantile && !options.raw)
    throw UsageError("BootStrapper: mean, std, quantile and raw are all off; nothing is left to compute");
  return options.num_bootstraps;
}

}  // namespace

BootStrapper::BootStrapper(const std::shared_ptr<Metric>& metric, Options options)
    : Cloneable("BootStrapper", metric, checked_copies(options)),
      options_(std::move(options)),
      generator_(make_generator(static_cast<uint64_t>(options_.seed))) {}

BootStrapper::BootStrapper(const BootStrapper& other)
    : Cloneable(other),
      options_(other.options_),
      generator_(other.generator_.clone()),
      stream_(other.stream_),
      updates_(other.updates_) {}

BootStrapper& BootStrapper::operator=(const BootStrapper& other) {
  WrapperMetric::operator=(other);
  options_ = other.options_;
  generator_ = other.generator_.clone();
  stream_ = other.stream_;
  updates_ = other.updates_;
  return *this;
}

at::Tensor BootStrapper::drawn(int64_t samples) {
  const at::Tensor ones = at::ones({samples});
  if (options_.sampling_strategy == SamplingStrategy::Multinomial)
    return samples == 0 ? at::arange(0) : at::multinomial(ones, samples, /*replacement=*/true, generator_);
  return at::arange(samples).repeat_interleave(at::poisson(ones, generator_).to(at::kLong));
}

void BootStrapper::update_inputs(at::TensorList inputs) {
  for (const at::Tensor& input : inputs)
    if (input.dim() == 0 || input.size(0) != inputs[0].size(0))
      throw UsageError(
          "BootStrapper: expected inputs with one size of the first dimension, whose samples are drawn; got ",
          inputs[0].sizes(), " and ", input.sizes());
  for (const auto& part : parts) {
    const at::Tensor index = drawn(inputs[0].size(0)).to(inputs[0].device());
    if (index.numel() == 0) continue;
    std::vector<at::Tensor> samples;
    for (const at::Tensor& input : inputs) samples.push_back(input.index_select(0, index));
    part->update_all(samples);
  }
  ++updates_;
}

at::Tensor BootStrapper::compute_value() const {
  std::vector<double> each;
  for (const auto& part : parts) each.push_back(single_value("BootStrapper", part->compute()));
  const at::Tensor all = at::tensor(each, at::kDouble);
  std::vector<at::Tensor> values;
  if (options_.mean) values.push_back(all.mean().reshape(1));
  if (options_.std) values.push_back(all.std(0).reshape(1));
  if (options_.quantile) values.push_back(at::quantile(all, *options_.quantile).reshape(1));
  if (options_.raw) values.push_back(all);
  return at::cat(values).to(device());
}

std::vector<std::string> BootStrapper::value_names() const {
  std::vector<std::string> names;
  if (options_.mean) names.emplace_back("mean");
  if (options_.std) names.emplace_back("std");
  if (options_.quantile) names.emplace_back("quantile");
  for (size_t i = 0; options_.raw && i < parts.size(); ++i) names.push_back("raw_" + std::to_string(i));
  return names;
}

void BootStrapper::use_stream(int64_t stream) {
  WrapperMetric::use_stream(stream);
  if (stream == stream_) return;
  stream_ = stream;
  updates_ = 0;
  const uint64_t seed = static_cast<uint64_t>(options_.seed);
  generator_.set_current_seed(seed + 0x9E3779B97F4A7C15U * static_cast<uint64_t>(stream));
}

State BootStrapper::state_dict() const {
  State state = WrapperMetric::state_dict();
  state["generator"] = generator_.get_state();
  state["stream"] = stream_;
  state["updates"] = updates_;
  return state;
}

void BootStrapper::load_state_dict(const State& state) {
  WrapperMetric::load_state_dict(state);
  generator_.set_state(state.at("generator").to_tensor().cpu());
  stream_ = state.at("stream").to_int();
  updates_ = state.at("updates").to_int();
}

void BootStrapper::prepend_state_dict(const State& earlier) {
  WrapperMetric::prepend_state_dict(earlier);
  if (earlier.at("stream").to_int() != stream_) return;
  const int64_t updates = earlier.at("updates").to_int();
  if (updates > updates_) generator_.set_state(earlier.at("generator").to_tensor().cpu());
  updates_ = std::max(updates, updates_);
}

}  // namespace levin::metrics
