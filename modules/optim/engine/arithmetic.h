#pragma once
#include <ATen/core/Tensor.h>

#include <cmath>
#include <concepts>
#include <vector>

// The elementwise arithmetic of optimizers, overloaded for numbers and for lists of tensors, so that a rule written
// with it runs in a loop over memory and on any device. Each function rounds like the LibTorch operation of the same
// name; on processors where LibTorch's kernels use fused multiply-add, numbers are `Fused`.
namespace levin::optim::detail {

/// Tensors of one device and dtype, processed together by LibTorch's _foreach operations.
using TensorList = std::vector<at::Tensor>;

/// A number with fused multiply-add (one rounding). `kTail`: rounds like the last elements of a tensor in LibTorch's
/// fused optimizers, which do not fill one of its vectors.
template <std::floating_point T, bool kTail = false>
struct Fused {
  using Value = T;
  Fused() = default;
  explicit Fused(double from) : value(static_cast<T>(from)) {}

  friend Fused operator+(Fused a, Fused b) { return of(a.value + b.value); }
  friend Fused operator-(Fused a, Fused b) { return of(a.value - b.value); }
  friend Fused operator*(Fused a, Fused b) { return of(a.value * b.value); }
  friend Fused operator/(Fused a, Fused b) { return of(a.value / b.value); }
  friend bool operator<(Fused a, Fused b) { return a.value < b.value; }
  friend bool operator>(Fused a, Fused b) { return a.value > b.value; }
  friend bool operator!=(Fused a, Fused b) { return a.value != b.value; }

  static Fused of(T number) {
    Fused made;
    made.value = number;
    return made;
  }
  T value = 0;
};

template <class V>
inline constexpr bool is_number = std::floating_point<V>;
template <class T, bool kTail>
inline constexpr bool is_number<Fused<T, kTail>> = true;
template <class V>
concept Number = is_number<V>;

/// a * b + c
template <std::floating_point V>
V multiply_add(V a, V b, V c) {
  return a * b + c;
}
template <std::floating_point T, bool kTail>
Fused<T, kTail> multiply_add(Fused<T, kTail> a, Fused<T, kTail> b, Fused<T, kTail> c) {
  return Fused<T, kTail>::of(std::fma(a.value, b.value, c.value));
}

template <Number V>
V add(V a, V b, double alpha = 1) {
  return multiply_add(b, static_cast<V>(alpha), a);
}
template <Number V>
V add_scalar(V a, double b) {
  return a + static_cast<V>(b);
}
template <Number V>
V mul_scalar(V a, double b) {
  return a * static_cast<V>(b);
}
template <Number V>
V mul(V a, V b) {
  return a * b;
}
template <Number V>
V div_scalar(V a, double b) {
  return a / static_cast<V>(b);
}
template <Number V>
V div(V a, V b) {
  return a / b;
}
/// a + weight * (b - a), computed from the nearer end.
template <Number V>
V lerp(V a, V b, double weight) {
  return weight < 0.5 ? multiply_add(static_cast<V>(weight), b - a, a)
                      : multiply_add(static_cast<V>(weight) - static_cast<V>(1), b - a, b);
}
/// a + value * b * c
template <Number V>
V addcmul(V a, V b, V c, double value) {
  return multiply_add(static_cast<V>(value) * b, c, a);
}
/// a + value * b / c
template <Number V>
V addcdiv(V a, V b, V c, double value = 1) {
  return a + static_cast<V>(value) * b / c;
}
template <std::floating_point V>
V sqrt(V a) {
  return std::sqrt(a);
}
template <std::floating_point T, bool kTail>
Fused<T, kTail> sqrt(Fused<T, kTail> a) {
  return Fused<T, kTail>::of(std::sqrt(a.value));
}
template <std::floating_point V>
V abs(V a) {
  return std::abs(a);
}
template <std::floating_point T, bool kTail>
Fused<T, kTail> abs(Fused<T, kTail> a) {
  return Fused<T, kTail>::of(std::abs(a.value));
}
/// Returns the maximum; NaN if either is NaN.
template <Number V>
V maximum(V a, V b) {
  return a > b || a != a ? a : b;
}
template <Number V>
V clamp(V a, double least, double most) {
  const V low = static_cast<V>(least), high = static_cast<V>(most);
  return a < low ? low : a > high ? high : a;
}
/// Returns `value` as a number or a list like `a`.
template <Number V>
V scalar_like(V /*a*/, double value) {
  return static_cast<V>(value);
}
/// Selects a value by the sign of a.
template <Number V>
V by_sign(V a, double positive, double zero, double negative) {
  const V nothing = static_cast<V>(0.0);
  return a > nothing ? static_cast<V>(positive) : a < nothing ? static_cast<V>(negative) : static_cast<V>(zero);
}
/// Returns -1, 0 or 1.
template <Number V>
V sign(V a) {
  return by_sign(a, 1, 0, -1);
}

TensorList add(const TensorList& a, const TensorList& b, double alpha = 1);
TensorList add_scalar(const TensorList& a, double b);
TensorList mul_scalar(const TensorList& a, double b);
TensorList mul(const TensorList& a, const TensorList& b);
TensorList div_scalar(const TensorList& a, double b);
TensorList div(const TensorList& a, const TensorList& b);
TensorList lerp(const TensorList& a, const TensorList& b, double weight);
TensorList addcmul(const TensorList& a, const TensorList& b, const TensorList& c, double value);
TensorList addcdiv(const TensorList& a, const TensorList& b, const TensorList& c, double value = 1);
TensorList sqrt(const TensorList& a);
TensorList abs(const TensorList& a);
TensorList maximum(const TensorList& a, const TensorList& b);
TensorList clamp(const TensorList& a, double least, double most);
TensorList sign(const TensorList& a);
TensorList scalar_like(const TensorList& a, double value);
TensorList by_sign(const TensorList& a, double positive, double zero, double negative);

/// kept * a + value * b
template <class V>
V decay_and_add(const V& a, double kept, const V& b, double value) {
  return add(mul_scalar(a, kept), b, value);
}
template <std::floating_point T>
Fused<T, true> decay_and_add(const Fused<T, true>& a, double kept, const Fused<T, true>& b, double value) {
  return multiply_add(a, Fused<T, true>(kept), mul_scalar(b, value));
}
/// kept * a + value * b * c
template <class V>
V decay_and_addcmul(const V& a, double kept, const V& b, const V& c, double value) {
  return addcmul(mul_scalar(a, kept), b, c, value);
}
template <std::floating_point T>
Fused<T, true> decay_and_addcmul(const Fused<T, true>& a, double kept, const Fused<T, true>& b, const Fused<T, true>& c,
                                 double value) {
  return multiply_add(a, Fused<T, true>(kept), mul_scalar(b, value) * c);
}

/// Adds the L2 penalty to a gradient if `kL2` is set. `V`: numbers or lists.
template <bool kL2, class V>
V with_l2(const V& gradient, const V& parameter, double weight_decay) {
  if constexpr (kL2) return add(gradient, parameter, weight_decay);
  return gradient;
}

}  // namespace levin::optim::detail
