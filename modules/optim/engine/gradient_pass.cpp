#include <levin/modules/optim/engine/gradient_pass.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace levin::detail {
namespace {

/// The number of tensors that are summed side by side, so that additions do not wait for each other.
constexpr int64_t kTogether = 4;

template <class T>
struct Span {
  T* data = nullptr;
  int64_t size = 0;
};

/// Eight 32-bit numbers or four 64-bit ones, unaligned: a vector type of GCC and Clang.
template <class T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  static constexpr int64_t kCount = 32 / static_cast<int64_t>(sizeof(T));
};

template <bool kScale, class T>
[[gnu::always_inline]] inline void add_squares(T* data, T multiplier, typename Lanes<T>::Vector& sums) {
  auto& lanes = *reinterpret_cast<typename Lanes<T>::Vector*>(data);
  if constexpr (kScale) lanes *= multiplier;
  sums += lanes * lanes;
}

/// Computes the norms of up to kTogether tensors; missing ones have size 0.
template <bool kScale, class T>
[[gnu::always_inline]] inline void norms_of(const std::array<Span<T>, kTogether>& spans, T multiplier, T* norms) {
  constexpr int64_t kWidth = Lanes<T>::kCount;
  typename Lanes<T>::Vector sums_of[kTogether] = {};
  int64_t common = spans[0].size;
  for (const Span<T>& span : spans) common = std::min(common, span.size);
  common -= common % kWidth;
  for (int64_t i = 0; i < common; i += kWidth) {
    add_squares<kScale>(spans[0].data + i, multiplier, sums_of[0]);
    add_squares<kScale>(spans[1].data + i, multiplier, sums_of[1]);
    add_squares<kScale>(spans[2].data + i, multiplier, sums_of[2]);
    add_squares<kScale>(spans[3].data + i, multiplier, sums_of[3]);
  }
  for (size_t t = 0; t < kTogether; ++t) {
    const auto [data, size] = spans[t];
    typename Lanes<T>::Vector sums = sums_of[t];
    int64_t i = common;
    for (; i + kWidth <= size; i += kWidth) add_squares<kScale>(data + i, multiplier, sums);
    T total = sums[0];
    for (int64_t lane = 1; lane < kWidth; ++lane) total += sums[lane];
    for (; i < size; ++i) {
      if constexpr (kScale) data[i] *= multiplier;
      total += data[i] * data[i];
    }
    norms[t] = std::sqrt(total);
  }
}

template <class T>
using NormsOf = void (*)(const std::array<Span<T>, kTogether>& spans, T multiplier, T* norms);

template <bool kScale, class T>
void norms_anywhere(const std::array<Span<T>, kTogether>& spans, T multiplier, T* norms) {
  norms_of<kScale>(spans, multiplier, norms);
}

#if defined(__x86_64__)
template <bool kScale, class T>
[[gnu::target("avx2"), gnu::flatten]] void norms_avx2(const std::array<Span<T>, kTogether>& spans, T multiplier,
                                                      T* norms) {
  norms_of<kScale>(spans, multiplier, norms);
}
#endif

template <bool kScale, class T>
NormsOf<T> choose_norms() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return &norms_avx2<kScale, T>;
#endif
  return &norms_anywhere<kScale, T>;
}

template <class T>
GradientPass pass(const std::vector<at::Tensor>& gradients, double multiplier) {
  static const NormsOf<T> plain = choose_norms<false, T>(), scaling = choose_norms<true, T>();
  const NormsOf<T> norms_of_some = multiplier == 1 ? plain : scaling;
  const auto count = static_cast<int64_t>(gradients.size());
  GradientPass result;
  result.norms = at::empty({count}, gradients.front().options());
  T* norms = result.norms.template mutable_data_ptr<T>();
  int64_t total = 0;
  for (const at::Tensor& gradient : gradients) total += gradient.numel();
  const auto work = [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kTogether, last = std::min(first + kTogether, count);
      std::array<Span<T>, kTogether> spans = {};
      for (int64_t i = first; i < last; ++i) {
        const at::Tensor& gradient = gradients[static_cast<size_t>(i)];
        spans[static_cast<size_t>(i - first)] = {gradient.mutable_data_ptr<T>(), gradient.numel()};
      }
      std::array<T, kTogether> found = {};
      norms_of_some(spans, static_cast<T>(multiplier), found.data());
      std::copy(found.begin(), found.begin() + (last - first), norms + first);
    }
  };
  const int64_t groups = (count + kTogether - 1) / kTogether;
  if (total < 1 << 16)
    work(0, groups);
  else
    at::parallel_for(0, groups, /*grain_size=*/1, work);
  // The squares of large finite numbers are infinite as well.
  for (size_t i = 0; i < gradients.size() && result.finite; ++i) {
    if (std::isfinite(norms[i])) continue;
    const T* data = gradients[i].const_data_ptr<T>();
    result.finite = std::all_of(data, data + gradients[i].numel(), [](T value) { return std::isfinite(value); });
  }
  return result;
}

}  // namespace

bool can_pass_over(const std::vector<at::Tensor>& gradients) {
  return std::all_of(gradients.begin(), gradients.end(), [&](const at::Tensor& gradient) {
    const at::ScalarType dtype = gradient.scalar_type();
    return gradient.is_cpu() && gradient.layout() == at::kStrided && dtype == gradients.front().scalar_type() &&
           (dtype == at::kFloat || dtype == at::kDouble) && gradient.is_non_overlapping_and_dense();
  });
}

GradientPass pass_over(const std::vector<at::Tensor>& gradients, double multiplier) {
  return gradients.front().scalar_type() == at::kFloat ? pass<float>(gradients, multiplier)
                                                       : pass<double>(gradients, multiplier);
}

}  // namespace levin::detail
