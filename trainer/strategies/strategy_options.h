#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/parallel/ranks/compression.h>

#include <cstdint>
#include <optional>

namespace levin {

namespace parallel {
struct DistributedDataParallelOptions;
struct ShardingOptions;
}  // namespace parallel

/// Options of `dp`.
struct DPOptions {
  std::optional<int64_t> output_device =
      LEVIN_OPTION(output_device, {}, "Number of the GPU that gathers losses; unset: the first", {.min = 0});
};

/// Options of `ddp` and `zero1`.
struct DDPOptions {
  bool find_unused_parameters =
      LEVIN_OPTION(find_unused_parameters, false, "The loss does not depend on all parameters in each step");
  bool static_graph =
      LEVIN_OPTION(static_graph, false, "Each step has the same graph, whichever parameters it leaves out");
  double bucket_cap_mb = LEVIN_OPTION(
      bucket_cap_mb, 25, "MiB of gradients in a bucket, which is reduced while backward continues", {.min = 0.001});
  Choice<parallel::Compression> gradient_compression =
      LEVIN_OPTION(gradient_compression, parallel::Compression::None, "Type in which gradients are sent");
};

/// What fsdp divides among the ranks.
enum class ShardedState : uint8_t {
  All,       ///< parameters, gradients and optimizer state
  Gradients  ///< gradients and optimizer state
};
template <>
inline constexpr auto kWords<ShardedState> =
    words_of<ShardedState>({{"all", ShardedState::All}, {"gradients", ShardedState::Gradients}});

/// The files of a checkpoint: one that rank 0 writes, or a part by each rank.
enum class StateDictType : uint8_t { Full, Sharded };
template <>
inline constexpr auto kWords<StateDictType> =
    words_of<StateDictType>({{"full", StateDictType::Full}, {"sharded", StateDictType::Sharded}});

/// Options of `fsdp`. How many ranks divide the model is the trainer's `mesh.shard`.
struct FSDPOptions {
  Choice<ShardedState> shard = LEVIN_OPTION(
      shard, ShardedState::All,
      "What is divided among the ranks: parameters, gradients and optimizer state, or the last two alone, with fewer "
      "bytes sent");
  bool reduce_each_batch = LEVIN_OPTION(
      reduce_each_batch, false,
      "Gradients are reduced in each batch of an accumulation window, and a rank keeps its part of their sum; false: "
      "once at the end, with whole gradients until then, and fewer bytes sent");
  Choice<StateDictType> state_dict_type = LEVIN_OPTION(
      state_dict_type, StateDictType::Full,
      "full: checkpoints are one file, which rank 0 gathers and writes; sharded: each rank writes its part");
  bool find_unused_parameters =
      LEVIN_OPTION(find_unused_parameters, false, "The loss does not depend on all parameters in each step");
  Choice<parallel::Compression> gradient_compression =
      LEVIN_OPTION(gradient_compression, parallel::Compression::None, "Type in which gradients are sent");
  Choice<parallel::Compression> parameter_compression = LEVIN_OPTION(
      parameter_compression, parallel::Compression::None,
      "Type in which parameters are gathered; forward and backward see rounded values, the optimizer exact ones");
};

/// Returns the options of gradient reduction. `shards_optimizer`: each rank needs the means of its shard alone.
parallel::DistributedDataParallelOptions reducer_options(const DDPOptions& options, bool shards_optimizer);

/// Returns the options of a sharded module that `sharing_ranks` divide among each other; 0: all ranks.
parallel::ShardingOptions sharding_options(const FSDPOptions& options, int64_t sharing_ranks);

}  // namespace levin
