#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// Options of Run::save_checkpoint.
struct SaveCheckpointOptions {
  bool weights_only = false;                            ///< weights, counters and hyperparameters alone
  std::filesystem::path link_as = {};                   ///< a second name for the file, such as last.ckpt
  std::vector<std::filesystem::path> then_remove = {};  ///< files to remove once the checkpoint is complete
  /// URL of a bucket's folder (s3, gs) that gets a copy of the file and of link_as; removed files are removed there
  /// too.
  std::string upload_to = {};
};

}  // namespace levin
