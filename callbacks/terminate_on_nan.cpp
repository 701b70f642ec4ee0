#include <levin/callbacks/terminate_on_nan.h>
#include <levin/trainer/core/system/error.h>

namespace levin {

void TerminateOnNaN::on_train_batch_end(Run& run) {
  if (const auto step = run.non_finite_step())
    throw Error("TerminateOnNaN: the loss was NaN or infinite in step ", *step, "; the run ends here");
}

}  // namespace levin
