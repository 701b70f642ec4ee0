#pragma once
#include <levin/data/loader.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// One batch of each loader of a CombinedLoader; a step reads it by `batch.as<data::CombinedBatch>()`.
struct CombinedBatch {
  std::vector<std::pair<std::string, Batch>> batches = {};

  /// Returns the batch of the loader at this index; an empty batch if that loader has ended (mode MaxSize). Throws
  /// std::out_of_range.
  const Batch& operator[](size_t index) const { return batches.at(index).second; }
  /// Returns the batch of the loader of this name; throws levin::Error that lists the names.
  const Batch& operator[](const std::string& name) const;

  /// Returns the number of samples in the first batch that is not empty, which weights the means of `log`.
  int64_t size() const;
  CombinedBatch to(c10::Device device, bool non_blocking = false) const;
  CombinedBatch to(at::ScalarType dtype) const;
  CombinedBatch pin_memory() const;
  /// Returns samples [start, start + length) of each batch that is not empty; throws levin::Error if these have
  /// different numbers of samples.
  CombinedBatch narrow(int64_t start, int64_t length) const;
};

/// When an epoch of several loaders ends; PyTorch Lightning's names are in brackets.
enum class CombinedMode {
  MaxSizeCycle,  ///< when every loader has ended; shorter loaders restart ("max_size_cycle")
  MaxSize,       ///< when every loader has ended; ended loaders give empty batches ("max_size")
  MinSize,       ///< when the shortest loader ends ("min_size")
};

/// Several loaders in step: each batch is a CombinedBatch with one batch per loader. `fit` makes a CombinedLoader in
/// mode MaxSizeCycle if it is given several training loaders.
///
///     CombinedLoader({{"labelled", labelled}, {"unlabelled", unlabelled}}, CombinedMode::MinSize)
///
/// A loader that restarts draws a new order. Source: lightning.pytorch.utilities.CombinedLoader.
class CombinedLoader final : public Loader {
 public:
  using Named = std::pair<std::string, LoaderEntry>;

  /// Throws levin::UsageError for an empty list and for a name given twice.
  explicit CombinedLoader(std::vector<Named> loaders, CombinedMode mode = CombinedMode::MaxSizeCycle);
  /// Names the loaders "0", "1", ...
  explicit CombinedLoader(const Loaders& loaders, CombinedMode mode = CombinedMode::MaxSizeCycle);

  std::optional<LoadedBatch> next() override;
  /// Unset if a loader does not know its size.
  std::optional<int64_t> size() const override;
  void set_epoch(int64_t epoch) override;
  void set_default_seed(uint64_t seed) override;
  bool use_sequential_order() override;
  /// If a round of one loader has fewer samples than ranks and another loader's has enough, some samples of the short
  /// round are given to several ranks.
  void shard(int64_t rank, int64_t world) override;
  bool in_step() const override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  struct Part {
    std::string name;
    std::shared_ptr<Loader> loader;
    int64_t restarts = 0;  ///< restarts in this epoch
    bool ended = false;    ///< gave its last batch of this epoch at least once
  };
  std::optional<LoadedBatch> next_of(Part& part);
  bool epoch_done() const;

  std::vector<Part> parts_;
  CombinedMode mode_;
  int64_t epoch_ = 0;
};

}  // namespace levin::data
