#pragma once
#include <filesystem>
#include <vector>

namespace levin {

/// Options of Run::save_checkpoint.
struct SaveCheckpointOptions {
  bool weights_only = false;                            ///< weights, counters and hyperparameters alone
  std::filesystem::path link_as = {};                   ///< a second name for the file, such as last.ckpt
  std::vector<std::filesystem::path> then_remove = {};  ///< files to remove once the checkpoint is complete
};

}  // namespace levin
