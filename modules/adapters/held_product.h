#pragma once
#include <levin/modules/adapters/held_weight.h>

namespace levin::adapters {

/// Returns `input` [..., in] times a weight that is held in another form: times its transpose (`by_transpose`, as a
/// linear layer does), or times the weight as it is stored. The weight is read some rows at a time, forward and
/// backward; a backward keeps nothing but the held form. Computes in the dtype of `input`, or of autocast, and returns
/// that: [..., out].
at::Tensor held_product(const at::Tensor& input, const at::Tensor& held, const HeldForm& form, bool by_transpose);

}  // namespace levin::adapters
