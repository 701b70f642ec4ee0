#include <levin/modules/transformers/fused/row_passes.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

namespace levin::nn::fused {
namespace {

/// Partial results that are computed side by side; their order is the same with all vectors.
constexpr int64_t kLanes = 16;

#if defined(__x86_64__)
template <class Work>
[[gnu::target("avx2"), gnu::flatten]] void run_avx2(const Work& work, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) work(row);
}
template <class Work>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl"), gnu::flatten]] void run_avx512(const Work& work, int64_t begin,
                                                                                    int64_t end) {
  for (int64_t row = begin; row < end; ++row) work(row);
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

/// Calls `work` for each of `rows` rows of about `cols` numbers.
template <class Work>
void for_rows(int64_t rows, int64_t cols, const Work& work) {
  const int64_t at_least = std::max<int64_t>((int64_t{1} << 15) / std::max<int64_t>(cols, 1), 1);
#if defined(__x86_64__)
  static const bool is_512 = has_avx512(), is_256 = __builtin_cpu_supports("avx2");
#endif
  at::parallel_for(0, rows, at_least, [&](int64_t begin, int64_t end) {
#if defined(__x86_64__)
    if (is_512) return run_avx512(work, begin, end);
    if (is_256) return run_avx2(work, begin, end);
#endif
    for (int64_t row = begin; row < end; ++row) work(row);
  });
}

/// Returns the sum of `term(i)` for i < n.
template <class Term>
[[gnu::always_inline]] inline float sum_of(int64_t n, const Term& term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  for (; i < n; ++i) lanes[i % kLanes] += term(i);
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

[[gnu::always_inline]] inline float largest_of(const float* x, int64_t n) {
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

/// Beyond this, e^x is that of the limit. No product with it is so small that the processor computes it slowly, as
/// compilers compute both sides of a condition.
constexpr float kLimit = 60;

/// e^x to 2 units in the last place, between e^-60 and e^60: 2^k times a polynomial of what is left, in a form that
/// becomes vector instructions. NaN stays NaN.
/// Source: the coefficients are those of the Taylor series; |x - k ln 2| <= ln 2 / 2, where 8 terms suffice.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded to a whole number
  x = x < -kLimit ? -kLimit : x;
  x = x > kLimit ? kLimit : x;
  const float k = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - k * 0.693359375F) - k * -2.12194440e-4F;  // ln 2 in two parts, the first of few bits
  float sum = (1.0F / 5040 * r + 1.0F / 720) * r + 1.0F / 120;
  sum = (((sum * r + 1.0F / 24) * r + 1.0F / 6) * r + 0.5F) * r * r + r + 1;
  return sum * std::bit_cast<float>((static_cast<int32_t>(k) + 127) << 23);
}

constexpr float kGeluFactor = 1.595769122F, kGeluCube = 0.044715F;  // the first is sqrt(8 / pi)

/// The gate of a smaller number is as good as zero.
[[gnu::always_inline]] inline float limited(float x) { return x < -kLimit ? -kLimit : x; }

/// sigmoid(k(x)).
template <Gate gate>
[[gnu::always_inline]] inline float sigmoid_of(float x) {
  const float inner = gate == Gate::Silu ? x : kGeluFactor * (x + kGeluCube * x * x * x);
  return 1 / (1 + exp_of(-inner));
}

/// The derivative of k(x).
template <Gate gate>
[[gnu::always_inline]] inline float inner_slope_of(float x) {
  return gate == Gate::Silu ? 1 : kGeluFactor * (1 + 3 * kGeluCube * x * x);
}

template <Gate gate>
void gated_rows_of(Rows size, const float* x, const float* up, float* y) {
  for_rows(size.rows, size.cols, [=](int64_t row) {
    const float* const gates = x + row * size.cols;
    const float* const factors = up + row * size.cols;
    float* const to = y + row * size.cols;
    for (int64_t i = 0; i < size.cols; ++i) {
      const float value = limited(gates[i]);
      to[i] = value * sigmoid_of<gate>(value) * factors[i];
    }
  });
}

template <Gate gate>
void gated_backward_rows_of(Rows size, const float* gradient, const float* x, const float* up, float* x_gradient,
                            float* up_gradient) {
  for_rows(size.rows, size.cols, [=](int64_t row) {
    const float* const from = gradient + row * size.cols;
    const float* const gates = x + row * size.cols;
    const float* const factors = up + row * size.cols;
    float* const to_gates = x_gradient + row * size.cols;
    float* const to_factors = up_gradient + row * size.cols;
    for (int64_t i = 0; i < size.cols; ++i) {
      const float value = limited(gates[i]), sigmoid = sigmoid_of<gate>(value);
      to_gates[i] = from[i] * factors[i] * (sigmoid * (1 + value * inner_slope_of<gate>(value) * (1 - sigmoid)));
      to_factors[i] = from[i] * (value * sigmoid);
    }
  });
}

}  // namespace

void rms_norm_rows(Rows size, const float* x, const float* weight, float eps, float* y, float* scales) {
  for_rows(size.rows, size.cols, [=](int64_t row) {
    const float* const from = x + row * size.cols;
    float* const to = y + row * size.cols;
    const float squares = sum_of(size.cols, [from](int64_t i) { return from[i] * from[i]; });
    const float scale = 1 / std::sqrt(squares / static_cast<float>(size.cols) + eps);
    for (int64_t i = 0; i < size.cols; ++i) to[i] = from[i] * scale * weight[i];
    scales[row] = scale;
  });
}

void rms_norm_backward_rows(Rows size, const float* gradient, const float* x, const float* weight, const float* scales,
                            float* x_gradient) {
  for_rows(size.rows, size.cols, [=](int64_t row) {
    const float* const from = gradient + row * size.cols;
    const float* const own = x + row * size.cols;
    float* const to = x_gradient + row * size.cols;
    const float scale = scales[row];
    const float product = sum_of(size.cols, [=](int64_t i) { return from[i] * weight[i] * own[i]; });
    const float along = scale * scale * product / static_cast<float>(size.cols);
    for (int64_t i = 0; i < size.cols; ++i) to[i] = scale * (from[i] * weight[i] - own[i] * along);
  });
}

void rotate_rows(const Rotation& rotation, float* y) {
  const int64_t half = rotation.dims / 2;
  for_rows(rotation.batch * rotation.time, rotation.heads * rotation.cols, [=, &rotation](int64_t row) {
    const int64_t b = row / rotation.time, t = row % rotation.time;
    const auto at = [b, t](const StridedRows& rows) { return rows.data + b * rows.outer + t * rows.middle; };
    const float* const cosines = at(rotation.cosines);
    const float* const sines = at(rotation.sines);
    for (int64_t head = 0; head < rotation.heads; ++head) {
      const float* const from = at(rotation.x) + head * rotation.x.inner;
      float* const to = y + (row * rotation.heads + head) * rotation.cols;
      for (int64_t i = 0; i < half; ++i) {
        const float first = from[i], second = from[half + i], sine = rotation.direction * sines[i];
        to[i] = first * cosines[i] - second * sine;
        to[half + i] = second * cosines[i] + first * sine;
      }
      std::copy(from + rotation.dims, from + rotation.cols, to + rotation.dims);
    }
  });
}

void gated_rows(Rows size, Gate gate, const float* x, const float* up, float* y) {
  gate == Gate::Silu ? gated_rows_of<Gate::Silu>(size, x, up, y) : gated_rows_of<Gate::GeluTanh>(size, x, up, y);
}

void gated_backward_rows(Rows size, Gate gate, const float* gradient, const float* x, const float* up,
                         float* x_gradient, float* up_gradient) {
  gate == Gate::Silu ? gated_backward_rows_of<Gate::Silu>(size, gradient, x, up, x_gradient, up_gradient)
                     : gated_backward_rows_of<Gate::GeluTanh>(size, gradient, x, up, x_gradient, up_gradient);
}

bool cross_entropy_rows(Rows size, const float* logits, const int64_t* targets, int64_t ignored, float* losses,
                        float* shifts) {
  const auto is_known = [&](int64_t target) { return target == ignored || (target >= 0 && target < size.cols); };
  if (!std::all_of(targets, targets + size.rows, is_known)) return false;
  for_rows(size.rows, size.cols, [=](int64_t row) {
    losses[row] = shifts[row] = shifts[size.rows + row] = 0;
    if (targets[row] == ignored) return;
    const float* const from = logits + row * size.cols;
    const float largest = largest_of(from, size.cols);
    const float log_sum = std::log(sum_of(size.cols, [=](int64_t i) { return exp_of(from[i] - largest); }));
    shifts[row] = largest;
    shifts[size.rows + row] = log_sum;
    losses[row] = log_sum - (from[targets[row]] - largest);
  });
  return true;
}

void cross_entropy_backward_rows(Rows size, const float* logits, const int64_t* targets, int64_t ignored,
                                 const float* shifts, float factor, float* gradient) {
  for_rows(size.rows, size.cols, [=](int64_t row) {
    const float* const from = logits + row * size.cols;
    float* const to = gradient + row * size.cols;
    if (targets[row] == ignored) return static_cast<void>(std::fill(to, to + size.cols, 0.0F));
    const float largest = shifts[row], log_sum = shifts[size.rows + row];
    for (int64_t i = 0; i < size.cols; ++i) to[i] = factor * exp_of(from[i] - largest - log_sum);
    to[targets[row]] -= factor;
  });
}

}  // namespace levin::nn::fused
