#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>

#include <cstdint>
#include <string>

namespace levin {
namespace data {

/// What each rank takes of a stream.
enum class RankShare : uint8_t {
  Shards,  ///< whole shards: each rank reads its own alone
  Samples  ///< samples of every shard: the order is the same for any number of ranks
};

}  // namespace data

template <>
inline constexpr auto kWords<data::RankShare> =
    words_of<data::RankShare>({{"shards", data::RankShare::Shards}, {"samples", data::RankShare::Samples}});

namespace data {

/// How shards are divided, and how those of servers come.
struct ShardOptions {
  Choice<RankShare> ranks_take = LEVIN_OPTION(
      ranks_take, RankShare::Shards,
      "With several ranks, each reads shards of its own (shards), or all read every shard and divide its samples, "
      "in an order that does not depend on their number, so that a run resumes on any number of ranks (samples)");
  int64_t prefetch_shards = LEVIN_OPTION(prefetch_shards, 8,
                                         "Shards at URLs that are fetched ahead of the one that is read, each by a "
                                         "connection of its own",
                                         {.min = 0, .max = 256});
  std::string cache_folder = LEVIN_OPTION(
      cache_folder, "",
      "Folder for shards from URLs, which the ranks of a machine share; empty: streams, below $LEVIN_CACHE "
      "or ~/.cache/levin");
  int64_t cache_bytes = LEVIN_OPTION(
      cache_bytes, 50'000'000'000,
      "Most bytes in cache_folder; the shards that were used least recently are removed first", {.min = 1});
};

}  // namespace data
}  // namespace levin
