#pragma once
#include <levin/callbacks/callback.h>

namespace levin {

/// Ends the run with levin::Error (the program exits with 1) if a loss is NaN or infinite: at the end of that batch or,
/// for losses on a GPU, of the first batch after the next log point.
class TerminateOnNaN : public Callback {
 public:
  void on_train_batch_end(Run& run) override;
};

}  // namespace levin
