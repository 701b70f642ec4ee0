#include <levin/modules/optim/engine/arithmetic.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_abs.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_maximum.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

namespace levin::optim::detail {

TensorList add(const TensorList& a, const TensorList& b, double alpha) { return at::_foreach_add(a, b, alpha); }
TensorList add_scalar(const TensorList& a, double b) { return at::_foreach_add(a, b); }
TensorList mul_scalar(const TensorList& a, double b) { return at::_foreach_mul(a, b); }
TensorList mul(const TensorList& a, const TensorList& b) { return at::_foreach_mul(a, b); }
TensorList div_scalar(const TensorList& a, double b) { return at::_foreach_div(a, b); }
TensorList div(const TensorList& a, const TensorList& b) { return at::_foreach_div(a, b); }
TensorList lerp(const TensorList& a, const TensorList& b, double weight) { return at::_foreach_lerp(a, b, weight); }
TensorList addcmul(const TensorList& a, const TensorList& b, const TensorList& c, double value) {
  return at::_foreach_addcmul(a, b, c, value);
}
TensorList addcdiv(const TensorList& a, const TensorList& b, const TensorList& c, double value) {
  return at::_foreach_addcdiv(a, b, c, value);
}
TensorList sqrt(const TensorList& a) { return at::_foreach_sqrt(a); }
TensorList abs(const TensorList& a) { return at::_foreach_abs(a); }
TensorList maximum(const TensorList& a, const TensorList& b) { return at::_foreach_maximum(a, b); }
TensorList clamp(const TensorList& a, double least, double most) {
  TensorList result = at::_foreach_clamp_min(a, least);
  at::_foreach_clamp_max_(result, most);
  return result;
}
TensorList sign(const TensorList& a) { return at::_foreach_sign(a); }

TensorList scalar_like(const TensorList& a, double value) {
  TensorList result;
  result.reserve(a.size());
  for (const at::Tensor& tensor : a) result.push_back(at::full_like(tensor, value));
  return result;
}

TensorList by_sign(const TensorList& a, double positive, double zero, double negative) {
  TensorList result;
  result.reserve(a.size());
  for (const at::Tensor& tensor : a) {
    const at::Tensor other = at::full_like(tensor, zero).masked_fill_(tensor < 0, negative);
    result.push_back(other.masked_fill_(tensor > 0, positive));
  }
  return result;
}

}  // namespace levin::optim::detail
