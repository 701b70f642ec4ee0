#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/batch.h>
#include <levin/data/sampler.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace levin {
namespace data {

/// What becomes of an epoch's last samples that are too few for a batch on each rank.
enum class PartialRound : uint8_t {
  Uneven,  ///< the first ranks get one more
  Drop,    ///< those that do not divide equally are left out
  Pad      ///< the epoch's first samples fill them up
};

}  // namespace data

template <>
inline constexpr auto kWords<data::PartialRound> = words_of<data::PartialRound>(
    {{"uneven", data::PartialRound::Uneven}, {"drop", data::PartialRound::Drop}, {"pad", data::PartialRound::Pad}});

namespace data {

/// Makes one batch of samples; see data/collate.h.
using Collate = std::function<Batch(const std::vector<Batch>& samples)>;

/// The options of a DataLoader. Names follow torch.utils.data.DataLoader.
struct DataLoaderOptions {
  int64_t batch_size = LEVIN_OPTION(batch_size, 1, "Samples per batch and device", {.min = 1});
  bool shuffle = LEVIN_OPTION(shuffle, false, "Draw a new order of the samples for each epoch");
  int64_t num_workers = LEVIN_OPTION(num_workers, 0, "Threads that load ahead; 0: none", {.min = 0});
  int64_t prefetch_factor = LEVIN_OPTION(prefetch_factor, 2, "Batches that each worker loads ahead", {.min = 1});
  bool drop_last = LEVIN_OPTION(drop_last, false, "Leave out a last batch that is not full");
  bool pin_memory = LEVIN_OPTION(pin_memory, false, "Load into page-locked memory, for faster copies to a GPU");
  double timeout_seconds =
      LEVIN_OPTION(timeout_seconds, 0, "Longest wait for a batch of the workers; 0: no limit", {.min = 0});
  Choice<PartialRound> partial_round = LEVIN_OPTION(
      partial_round, PartialRound::Uneven,
      "With several ranks, the epoch's last samples, too few for a batch on each: divide them (uneven), leave them out "
      "(drop), or fill up with the epoch's first (pad)");
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of order and random transforms; unset: the run's seed");

  /// The order of the samples; unset: `shuffle` decides. In C++ only.
  std::shared_ptr<const Sampler> sampler = {};
  /// Divides each epoch into batches, in place of batch_size, shuffle, sampler and drop_last. In C++ only.
  std::shared_ptr<const BatchSampler> batch_sampler = {};
  /// Makes a batch from the samples of the dataset's `get`; unset: the dataset's get_batch. In C++ only.
  Collate collate = {};
  /// For an iterable dataset whose content depends on what is trained: the loader reads the stream only when a batch is
  /// requested. It reads no batch ahead to know which is the last. A resumed run reads no batch again; if the stream
  /// has no state_dict(), it restarts. The option needs num_workers 0, and can be set in C++ only.
  bool on_demand = false;
};

/// The loader options of a data module, as fields of its options struct, so that `MyData({.batch_size = 64})` and
/// `--data.batch_size 64` work alike. Put them after the module's own fields; `loader_options(options)` reads them.
#define LEVIN_LOADER_OPTIONS(default_batch_size, default_shuffle)                                                   \
  int64_t batch_size = LEVIN_OPTION(batch_size, default_batch_size, "Samples per batch and device", {.min = 1});    \
  int64_t num_workers = LEVIN_OPTION(num_workers, 0, "Threads that load ahead; 0: none", {.min = 0});               \
  bool shuffle = LEVIN_OPTION(shuffle, default_shuffle, "Draw a new order of the training samples for each epoch"); \
  bool drop_last = LEVIN_OPTION(drop_last, false, "Leave out a last training batch that is not full");              \
  bool pin_memory = LEVIN_OPTION(pin_memory, false, "Load into page-locked memory, for faster copies to a GPU");    \
  int64_t prefetch_factor = LEVIN_OPTION(prefetch_factor, 2, "Batches that each worker loads ahead", {.min = 1});   \
  double timeout_seconds =                                                                                          \
      LEVIN_OPTION(timeout_seconds, 0, "Longest wait for a batch of the workers; 0: no limit", {.min = 0});         \
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of order and random transforms; unset: the run's seed")

/// Returns the training loader's options from an options struct that has LEVIN_LOADER_OPTIONS.
template <class Options>
DataLoaderOptions loader_options(const Options& options) {
  return {.batch_size = options.batch_size,
          .shuffle = options.shuffle,
          .num_workers = options.num_workers,
          .prefetch_factor = options.prefetch_factor,
          .drop_last = options.drop_last,
          .pin_memory = options.pin_memory,
          .timeout_seconds = options.timeout_seconds,
          .seed = options.seed};
}

}  // namespace data
}  // namespace levin
