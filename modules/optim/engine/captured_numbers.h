#pragma once
#include <ATen/core/Tensor.h>

namespace levin::optim {

/// What changes from step to step in a parameter group, on the parameters' device: a step that was captured in a graph
/// reads it anew each time that it is replayed.
struct CapturedNumbers {
  at::Tensor lr = {};         ///< float32 scalar
  at::Tensor step = {};       ///< float32 scalar: the number of the coming step, from 1
  at::Tensor found_inf = {};  ///< float32 [1]: not 0 where the step is to change nothing; undefined where all are made
};

}  // namespace levin::optim
