#pragma once
#include <levin/core/run/hiding.h>
#include <levin/core/state/state.h>
#include <levin/data/batch.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::data {

/// A batch from a loader, and its place in the epoch.
struct LoadedBatch {
  Batch batch = {};
  int64_t samples = 0;  ///< number of samples in this batch
  bool last = false;    ///< no batch follows in this epoch, as far as the loader knows
  /// All samples of this round belong to other ranks. The batch, if not empty, may be run so that the other ranks'
  /// collectives complete, but does not count; `samples` is 0.
  bool absent = false;
};

/// A source of batches, as the loops see it.
///
/// `set_epoch`, or the first `next` (epoch 0), starts an epoch. After `load_state_dict` the loader is in the middle of
/// an epoch: `next` continues there, and `set_epoch` would restart the epoch.
class Loader {
 public:
  virtual ~Loader() = default;

  /// Returns the epoch's next batch; nothing after the last one, until `set_epoch`.
  virtual std::optional<LoadedBatch> next() = 0;
  /// Returns the number of batches per epoch, if known.
  virtual std::optional<int64_t> size() const = 0;
  /// Starts an epoch; the order of its samples depends on the seed and on `epoch` alone.
  virtual void set_epoch(int64_t epoch) = 0;
  /// Sets the run's seed, for a loader whose own options have none.
  virtual void set_default_seed(uint64_t /*seed*/) {}
  /// Switches to the dataset's own order; returns false if this loader cannot.
  virtual bool use_sequential_order() { return false; }
  /// Makes this the loader of rank `rank` of `world`. The default throws levin::UsageError for more than one rank.
  virtual void shard(int64_t rank, int64_t world);
  /// Returns whether the loaders of all ranks give the same number of batches and know which is the last, as when
  /// `shard` divides samples that every rank sees. If false (the default), the ranks ask each other before each batch.
  virtual bool in_step() const { return false; }

  /// Returns the position after the last batch, in samples of the epoch's global order, and the state of that order.
  virtual State state_dict() const = 0;
  /// Restores a position: `next` returns the batch that follows it. Throws levin::Error if the state belongs to other
  /// data.
  virtual void load_state_dict(const State& state) = 0;
};

/// Batches that are already in memory.
class BatchListLoader final : public Loader {
 public:
  /// Throws levin::UsageError for an empty list.
  explicit BatchListLoader(std::vector<Batch> batches);
  std::optional<LoadedBatch> next() override;
  std::optional<int64_t> size() const override { return static_cast<int64_t>(batches_.size()); }
  void set_epoch(int64_t epoch) override;
  bool use_sequential_order() override { return true; }
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  std::vector<Batch> batches_;
  int64_t epoch_ = 0, samples_ = 0;
  size_t next_ = 0;
};

struct StreamLoaderOptions {
  /// Makes each batch when it is requested, and only once: for streams whose content depends on what is trained (the
  /// steps of a policy, for example). The last batch is known only when no batch follows. A resumed run opens the
  /// stream after the batches that it has already had.
  bool on_demand = false;
};

/// Batches from a function that is called until it returns nothing; for sources of unknown length and any content.
///
/// Unless `on_demand` is set, one batch is read ahead to know which is the last, and a loaded state is reached by
/// reading the epoch again up to it.
class StreamLoader final : public Loader {
 public:
  using Stream = std::function<std::optional<Batch>()>;
  /// `open` starts an epoch.
  explicit StreamLoader(std::function<Stream(int64_t epoch)> open, StreamLoaderOptions options = {})
      : StreamLoader([open = std::move(open)](int64_t epoch, int64_t /*batches*/) { return open(epoch); }, options) {}
  /// `open` starts an epoch after its first `batches` batches: those that an `on_demand` stream had given when the
  /// state was saved.
  explicit StreamLoader(std::function<Stream(int64_t epoch, int64_t batches)> open, StreamLoaderOptions options = {})
      : open_(std::move(open)), options_(options) {}
  std::optional<LoadedBatch> next() override;
  std::optional<int64_t> size() const override { return {}; }
  void set_epoch(int64_t epoch) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  void begin(int64_t epoch, int64_t batches, int64_t samples);
  std::optional<Batch> take();

  std::function<Stream(int64_t epoch, int64_t batches)> open_;
  StreamLoaderOptions options_;
  Stream stream_ = {};
  std::optional<Batch> ahead_ = {};
  bool ended_ = false;
  int64_t epoch_ = 0, batches_ = 0, samples_ = 0;
};

class Dataset;

/// A dataset or a pointer to one, passed by mistake for a loader.
template <class D>
concept DatasetForLoader = std::derived_from<std::remove_cvref_t<D>, Dataset> || requires(const D& pointer) {
  { *pointer } -> std::convertible_to<const Dataset&>;
};

/// One loader of a list: any loader by value or by shared_ptr, or batches in memory.
struct LoaderEntry {
  template <class L>
    requires std::derived_from<L, Loader>
  LoaderEntry(L value) : loader(std::make_shared<L>(std::move(value))) {}
  template <class L>
    requires std::derived_from<L, Loader>
  LoaderEntry(std::shared_ptr<L> pointer) : loader(std::move(pointer)) {}
  LoaderEntry(std::vector<Batch> batches) : loader(std::make_shared<BatchListLoader>(std::move(batches))) {}

  std::shared_ptr<Loader> loader;
};

/// The loaders of one stage: `return loader;`, `return {loader_a, loader_b};`, `return batches;`, or `return {};`.
class Loaders {
 public:
  Loaders() = default;
  template <class L>
    requires(!std::same_as<std::remove_cvref_t<L>, Loaders>) && std::constructible_from<LoaderEntry, L&&>
  Loaders(L&& one) {
    add(LoaderEntry(std::forward<L>(one)));
  }
  /// Fails to compile: a dataset defines neither a batch size nor an order.
  template <DatasetForLoader D>
  Loaders(D&&) {
    static_assert(
        levin::detail::never<D>,
        "levin: loaders were expected, this is a dataset; write levin::data::DataLoader(dataset, {.batch_size = "
        "32, .shuffle = true})");
  }
  Loaders(std::initializer_list<LoaderEntry> list) {
    for (const LoaderEntry& entry : list) add(entry);
  }

  void add(LoaderEntry entry);
  size_t size() const { return loaders_.size(); }
  bool empty() const { return loaders_.empty(); }
  Loader& operator[](size_t index) const { return *loaders_.at(index); }
  auto begin() const { return loaders_.begin(); }
  auto end() const { return loaders_.end(); }

 private:
  std::vector<std::shared_ptr<Loader>> loaders_ = {};
};

}  // namespace levin::data
