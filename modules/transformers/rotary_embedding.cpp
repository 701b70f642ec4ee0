#include <levin/modules/transformers/rotary_embedding.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <c10/core/InferenceMode.h>
#include <levin/modules/recording/is_recording.h>
#include <levin/modules/transformers/fused/fused_operators.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace levin::nn {
namespace {

/// theta^(2 i / dims) for each pair i of the dims.
at::Tensor wavelengths(double theta, int64_t dims) {
  return at::pow(theta, at::arange(0, dims, 2, at::kFloat) / static_cast<double>(dims));
}

double dynamic_theta(const RopeConfig& rope, int64_t length) {
  const auto most = static_cast<double>(rope.max_positions), dims = static_cast<double>(rope.dims);
  const double now = std::max(static_cast<double>(length), most);
  return rope.theta * std::pow(rope.factor * now / most - (rope.factor - 1), dims / (dims - 2));
}

/// Long waves are stretched, short ones stay, those between are mixed.
at::Tensor llama3_frequencies(const RopeConfig& rope, const at::Tensor& plain) {
  const auto original = static_cast<double>(rope.original_positions);
  const at::Tensor lengths = 2 * std::numbers::pi / plain;
  const at::Tensor is_long = lengths.gt(original / rope.low_freq_factor);
  const at::Tensor is_short = lengths.lt(original / rope.high_freq_factor);
  const at::Tensor mix = (original / lengths - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor between = (1 - mix) * plain / rope.factor + mix * plain;
  return at::where(is_long, plain / rope.factor, at::where(is_short, plain, between));
}

/// Returns the pair of dims that makes `turns` rotations within the original length.
double pair_with_turns(const RopeConfig& rope, double turns) {
  const double positions = static_cast<double>(rope.original_positions) / (turns * 2 * std::numbers::pi);
  return static_cast<double>(rope.dims) * std::log(positions) / (2 * std::log(rope.theta));
}

at::Tensor yarn_frequencies(const RopeConfig& rope, const at::Tensor& waves) {
  double low = pair_with_turns(rope, rope.beta_fast), high = pair_with_turns(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.dims - 1));
  if (low == high) high += 0.001;
  const at::Tensor stretched = ((at::arange(rope.dims / 2, at::kFloat) - low) / (high - low)).clamp(0, 1);
  return stretched / (rope.factor * waves) + (1 - stretched) / waves;
}

at::Tensor longrope_frequencies(const RopeConfig& rope, int64_t length, const at::Tensor& waves) {
  const std::vector<double>& factors = length > rope.original_positions ? rope.long_factors : rope.short_factors;
  return 1 / (at::tensor(factors, at::kFloat) * waves);
}

/// In few operators, as each costs a launch.
at::Tensor rotated_whole(const at::Tensor& x, const RotaryAngles& angles) {
  const int64_t half = x.size(-1) / 2;
  const at::Tensor first = x.narrow(-1, 0, half), second = x.narrow(-1, half, half);
  return x * angles.cosines + at::cat({-second, first}, -1) * angles.sines;
}

/// The same numbers. A compiler makes one pass of it, as nothing is put together before the result.
at::Tensor rotated_halves(const at::Tensor& x, const RotaryAngles& angles) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);  // the angles of both are equal
  const at::Tensor cosines = angles.cosines.chunk(2, -1)[0], sines = angles.sines.chunk(2, -1)[0];
  return at::cat({halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines}, -1);
}

}  // namespace

bool depends_on_length(const RopeConfig& rope) {
  return rope.scaling == RopeScaling::Dynamic || rope.scaling == RopeScaling::LongRope;
}

at::Tensor rope_frequencies(const RopeConfig& rope, int64_t length) {
  const bool is_dynamic = rope.scaling == RopeScaling::Dynamic && length > rope.max_positions;
  const at::Tensor waves = wavelengths(is_dynamic ? dynamic_theta(rope, length) : rope.theta, rope.dims);
  switch (rope.scaling) {
    case RopeScaling::Linear:
      return 1 / waves / rope.factor;
    case RopeScaling::Llama3:
      return llama3_frequencies(rope, 1 / waves);
    case RopeScaling::Yarn:
      return yarn_frequencies(rope, waves);
    case RopeScaling::LongRope:
      return longrope_frequencies(rope, length, waves);
    case RopeScaling::Default:
    case RopeScaling::Dynamic:
      break;
  }
  return 1 / waves;
}

RotaryEmbedding::RotaryEmbedding(RopeConfig rope) : rope_(std::move(rope)) {}

const at::Tensor& RotaryEmbedding::frequencies(int64_t length, c10::Device device) {
  // What is recorded is made by operators each time: a tensor that was there before would be a constant of unknown
  // origin.
  if (!frequencies_.defined() || (depends_on_length(rope_) && length != length_) || recording::is_recording()) {
    const c10::InferenceMode normal_tensors(false);
    frequencies_ = rope_frequencies(rope_, length);
    length_ = length;
  }
  if (frequencies_.device() != device) frequencies_ = frequencies_.to(device);
  return frequencies_;
}

RotaryAngles RotaryEmbedding::angles(const at::Tensor& positions, int64_t length, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const at::Tensor each = positions.unsqueeze(-1).to(at::kFloat) * frequencies(length, positions.device());
  const at::Tensor both = at::cat({each, each}, -1).unsqueeze(1);
  return {.cosines = (both.cos() * rope_.attention_factor).to(dtype),
          .sines = (both.sin() * rope_.attention_factor).to(dtype)};
}

at::Tensor rotated_by(const at::Tensor& x, const RotaryAngles& angles) {
  if (fused::can_fuse(x)) return fused::rotated(x, angles.cosines, angles.sines);
  const int64_t dims = angles.cosines.size(-1), rest = x.size(-1) - dims;
  const at::Tensor turned = rest == 0 ? x : x.narrow(-1, 0, dims);
  const at::Tensor result = recording::is_recording() ? rotated_halves(turned, angles) : rotated_whole(turned, angles);
  return rest == 0 ? result : at::cat({result, x.narrow(-1, dims, rest)}, -1);
}

}  // namespace levin::nn
