#include <levin/data/loading/batch_source.h>

#include <algorithm>

namespace levin::data {

RankPart part_of_round(int64_t count, int64_t batch_size, const EpochKey& key, PartialRound rest) {
  if (count >= batch_size * key.world) return {key.rank * batch_size, (key.rank + 1) * batch_size};
  const int64_t whole = count / key.world, more = count % key.world;
  if (rest == PartialRound::Drop) return {key.rank * whole, (key.rank + 1) * whole};
  if (rest == PartialRound::Pad) {
    const int64_t each = whole + (more > 0);
    return {key.rank * each, (key.rank + 1) * each};
  }
  const int64_t begin = key.rank * whole + std::min(key.rank, more);
  return {begin, begin + whole + (key.rank < more)};
}

}  // namespace levin::data
