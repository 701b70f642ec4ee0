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

  /// By the loader's place. An empty batch where that loader has ended (mode MaxSize). Throws std::out_of_range.
  const Batch& operator[](size_t index) const { return batches.at(index).second; }
  /// By the loader's name; throws levin::Error that names the others.
  const Batch& operator[](const std::string& name) const;

  /// Samples of the first batch that is not empty: what log's means are weighted by.
  int64_t size() const;
  CombinedBatch to(c10::Device device, bool non_blocking = false) const;
  CombinedBatch pin_memory() const;
};

/// When an epoch of several loaders ends, with PyTorch Lightning's names in brackets.
enum class CombinedMode {
  MaxSizeCycle,  ///< with the longest; the others begin again ("max_size_cycle")
  MaxSize,       ///< with the longest; the others give empty batches ("max_size")
  MinSize,       ///< with the shortest ("min_size")
};

/// Several loaders in step: each batch is a CombinedBatch with one batch of each. `fit` makes one, in mode
/// MaxSizeCycle, where it is given several training loaders.
///
///     CombinedLoader({{"labelled", labelled}, {"unlabelled", unlabelled}}, CombinedMode::MinSize)
///
/// A loader that begins again draws a new order. Source: lightning.pytorch.utilities.CombinedLoader.
class CombinedLoader final : public Loader {
 public:
  using Named = std::pair<std::string, LoaderEntry>;

  /// Throws levin::UsageError for no loaders, and for a name given twice.
  explicit CombinedLoader(std::vector<Named> loaders, CombinedMode mode = CombinedMode::MaxSizeCycle);
  /// Named "0", "1", ...
  explicit CombinedLoader(const Loaders& loaders, CombinedMode mode = CombinedMode::MaxSizeCycle);

  std::optional<LoadedBatch> next() override;
  /// Unset where a loader does not know its size.
  std::optional<int64_t> size() const override;
  void set_epoch(int64_t epoch) override;
  void set_default_seed(uint64_t seed) override;
  bool use_sequential_order() override;
  /// Where a loader's round has fewer samples than ranks while another's has enough, the ranks without one get some
  /// samples twice.
  void shard(int64_t rank, int64_t world) override;
  bool in_step() const override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  struct Part {
    std::string name;
    std::shared_ptr<Loader> loader;
    int64_t restarts = 0;  ///< in this epoch
    bool ended = false;    ///< has given its last batch of this epoch, at least once
  };
  std::optional<LoadedBatch> next_of(Part& part);
  bool epoch_done() const;

  std::vector<Part> parts_;
  CombinedMode mode_;
  int64_t epoch_ = 0;
};

}  // namespace levin::data
