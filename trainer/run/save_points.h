#pragma once
#include <levin/trainer/checkpoint/checkpoint_saver.h>

#include <filesystem>
#include <vector>

namespace levin {

class RunContext;

/// Returns the checkpoint of a run. Collective: all ranks call it.
using CheckpointOf = CheckpointContents (*)(RunContext& run, bool weights_only);

/// The checkpoints of a run: requests wait until the loops reach a save point, a position from which the run can
/// resume.
class SavePoints final : private CheckpointSource {
 public:
  /// `run` must outlive the object.
  SavePoints(RunContext& run, CheckpointOf checkpoint_of);

  /// Requests a checkpoint; see Run::save_checkpoint.
  void request(const std::filesystem::path& path, SaveCheckpointOptions how);
  /// Saves the requested checkpoints. The loops call it at save points. Throws the error of an earlier save, unless
  /// checkpoint_errors is "warn". Collective: all ranks call it.
  void save_if_asked() {
    if (!holds_ && saver_.has_work()) save();
  }
  /// While `hold` is true, the requests wait.
  void hold(bool hold) { holds_ = hold; }
  /// Asks for a checkpoint that all ranks save once they have agreed to; see RankAgreement. `path` as for `request`.
  void ask_all_ranks(const std::filesystem::path& path) { asked_of_all_ranks_.push_back(path); }
  /// Returns whether this rank has asked.
  bool asks_all_ranks() const { return !asked_of_all_ranks_.empty(); }
  /// Requests the checkpoints for which any rank has asked. Collective: all ranks call it.
  void take_asked();
  /// Returns whether a checkpoint is requested that is not saved yet.
  bool has_requests() const { return saver_.has_requests() || asks_all_ranks(); }
  /// `save_if_asked` for places where some ranks may lack the request because they had no batch. Sends a message to all
  /// ranks.
  void save_if_any_rank_asks();
  /// Saves the checkpoints that on_exception hooks requested. The current accumulation window is dropped, and a resume
  /// skips the batch that failed.
  void save_after_exception();
  /// Waits until all checkpoints are written. Throws like `save_if_asked`.
  void finish() { saver_.finish(); }
  /// Waits, and frees the buffers.
  void release() { saver_.release(); }

  /// While it lives, `weights` are those of a sharded checkpoint: this rank's slices are added to `shards`.
  class ShardedWeights {
   public:
    ShardedWeights(SavePoints& saves, State& shards) : saves_(saves) {
      saves_.shards_ = &shards;
      saves_.sharded_sets_ = 0;
    }
    ~ShardedWeights() { saves_.shards_ = nullptr; }
    ShardedWeights(const ShardedWeights&) = delete;
    ShardedWeights& operator=(const ShardedWeights&) = delete;

   private:
    SavePoints& saves_;
  };
  /// See Run::weights.
  State weights();

 private:
  CheckpointContents contents(bool weights_only) override { return checkpoint_of_(run_, weights_only); }
  void before_save(const std::filesystem::path& file) override;
  std::filesystem::path run_folder() const override;
  void save();

  RunContext& run_;
  CheckpointOf checkpoint_of_;
  CheckpointSaver saver_;
  bool holds_ = false;
  std::vector<std::filesystem::path> asked_of_all_ranks_ = {};
  State* shards_ = nullptr;  ///< this rank's part of the sharded checkpoint that is being put together
  int sharded_sets_ = 0;     ///< of weights that hooks added to it
};

}  // namespace levin
