#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// Options of Trainer::start.
struct SessionOptions {
  std::string ckpt_path = {};  ///< the checkpoint to resume from; see Trainer
  /// Batches of an epoch on each rank, for schedulers that need the number of all steps; max_steps tells them too.
  std::optional<int64_t> batches_per_epoch = {};
  /// Checkpoints wait until the host calls Session::save, at a place where its own state (a buffer, an environment)
  /// matches the session's. If false, they are saved at the end of the step that asks for them.
  bool host_saves = false;
};

}  // namespace levin
