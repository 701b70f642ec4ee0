#include <levin/core/device/first_calls.h>
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/erfinv.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/trunc.h>

#include <mutex>

namespace levin {

void make_first_calls() {
  static std::once_flag made;
  std::call_once(made, [] {
    if (!at::hasMKL()) return;
    const at::NoGradGuard no_grad;
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      // So few elements are computed by the calling thread alone.
      const at::Tensor few = at::full({16}, 0.5, at::TensorOptions(type));
      for (const auto function : {at::acos, at::asin, at::atan, at::cos, at::erf, at::erfc, at::erfinv, at::exp,
                                  at::log, at::log10, at::log2, at::sin, at::sqrt, at::tan, at::tanh, at::trunc})
        function(few);
    }
  });
}

}  // namespace levin
