#pragma once
#include <ATen/core/Tensor.h>

namespace levin::optim {

/// The numbers of a parameter group that change from step to step, on the parameters' device: a step captured in a
/// graph reads them on each replay.
struct CapturedNumbers {
  at::Tensor lr = {};         ///< float32 scalar
  at::Tensor step = {};       ///< float32 scalar: the number of the next step, from 1
  at::Tensor found_inf = {};  ///< float32 [1]: nonzero makes the step a no-op; undefined: no step is skipped
};

}  // namespace levin::optim
