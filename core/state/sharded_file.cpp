#include <levin/core/state/sharded_file.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/system/error.h>
#include <levin/core/system/random_id.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>
#include <vector>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr const char* kIndexKey = "levin_sharded";
constexpr const char* kPartKey = "levin_part";
constexpr const char* kDivided = "divided";
constexpr int64_t kShardedFormat = 1;
constexpr int64_t kMostParts = 1 << 20;
constexpr size_t kDigitsOfSave = 12;

/// Returns what a dict says of parts. Throws levin::Error if it has no such entries.
ShardedIndex index_in(const State& state, const fs::path& file) {
  const int64_t version = state.at("format_version").to_int();
  if (version > kShardedFormat)
    throw UsageError(file.string(), ": its format of sharded checkpoints has the version ", version,
                     ", and this levin reads up to ", kShardedFormat, "; use a newer levin");
  ShardedIndex index{.save = state.at("save").to_string(), .ranks = state.at("ranks").to_int()};
  const bool is_plain = !index.save.empty() && std::all_of(index.save.begin(), index.save.end(),
                                                           [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!is_plain || index.ranks < 1 || index.ranks > kMostParts)
    throw UsageError(file.string(), ": damaged, it names no parts that there could be");
  return index;
}

State state_of_index(const ShardedIndex& index) {
  return State::dict({{"format_version", kShardedFormat}, {"save", index.save}, {"ranks", index.ranks}});
}

/// Reads what a part holds by key.
State read_part(const fs::path& index, const ShardedIndex& named, int64_t rank, const LoadStateOptions& options) {
  const fs::path file = part_file(index, named.save, rank, named.ranks);
  std::error_code error;
  if (!fs::exists(file, error))
    throw UsageError(index.string(), ": its part of rank ", rank, " is missing, ", file.filename().string(),
                     "; a sharded checkpoint is this file and ", named.ranks,
                     " parts beside it: copy that part here too, or use another checkpoint");
  try {
    const State part = load_state_bytes(map_file_bytes(file), {.verify_checksums = options.verify_checksums});
    const State& own = part.at(kPartKey);
    const ShardedIndex said = index_in(own, file);
    if (said.save != named.save || said.ranks != named.ranks || own.at("rank").to_int() != rank)
      throw UsageError(file.string(), ": it is the part of rank ", own.at("rank").to_int(), " of ", said.ranks,
                       " of another checkpoint (", said.save, ")");
    return part.at(kDivided);
  } catch (const Error& failure) {
    throw UsageError(index.string(), ": its part of rank ", rank, " cannot be used: ", failure.what(),
                     "; copy that part again, or use another checkpoint");
  }
}

}  // namespace

ShardedIndex new_sharded_index(int64_t ranks) { return {.save = random_id().substr(0, kDigitsOfSave), .ranks = ranks}; }

void set_sharded_index(State& tree, const ShardedIndex& index) { tree[kIndexKey] = state_of_index(index); }

State part_of_checkpoint(const ShardedIndex& index, int64_t rank, State shards) {
  State own = state_of_index(index);
  own["rank"] = rank;
  return State::dict({{kPartKey, std::move(own)}, {kDivided, std::move(shards)}});
}

std::optional<ShardedIndex> read_sharded_index(const fs::path& file) {
  const State state = load_state_bytes(map_file_bytes(file), {.key = kIndexKey, .verify_checksums = false});
  const State* const format = state.is_dict() ? state.find("format_version") : nullptr;
  if (format == nullptr || state.find("save") == nullptr || state.find("ranks") == nullptr) return {};
  return index_in(state, file);
}

void join_parts(State& state, const fs::path& index, const LoadStateOptions& options) {
  if (!has_shard_marks(state)) return;
  const std::optional<ShardedIndex> named = read_sharded_index(index);
  if (!named) throw UsageError(index.string(), ": damaged, it has parts and does not name them");
  std::vector<State> parts;
  for (int64_t rank = 0; rank < named->ranks; ++rank) parts.push_back(read_part(index, *named, rank, options));
  try {
    join_shards(state, parts, options.join);
  } catch (const Error& error) {
    throw UsageError(index.string(), ": ", error.what());
  }
  if (state.is_dict())
    std::erase_if(state.to_dict(), [](const State::Item& item) { return to_text(item.first) == kIndexKey; });
}

}  // namespace levin
