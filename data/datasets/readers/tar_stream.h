#pragma once
#include <levin/data/datasets/readers/shard_files.h>
#include <levin/data/datasets/readers/tar_sample.h>
#include <levin/data/iterable_dataset.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin::data {

/// The samples of tar shards in one epoch, shard after shard. With shuffle, the order of the shards depends on (seed,
/// epoch), and samples are drawn from a buffer by (seed, epoch, position).
///
/// Rank r takes the shards r, r + world, ... of the order or, if there are fewer shards than ranks, every world-th
/// sample. The state holds the shard, the byte offset of its next sample, and the places of the samples in the buffer.
/// Shards at URLs are fetched ahead; what is read of them is what the same files would give.
class TarStream final : public SampleStream {
 public:
  TarStream(std::shared_ptr<ShardList> shards, const StreamOptions& options, int64_t shuffle_buffer);

  std::optional<Batch> next() override;
  std::optional<State> state_dict() const override;
  /// Reads the samples of the buffer again. Throws levin::Error for a state of another number of shards, other ranks or
  /// another buffer size.
  void load_state_dict(const State& state) override;

 private:
  struct Place {
    int64_t shard = 0, offset = 0;
  };
  struct Entry {
    Place place = {};
    TarSample sample = {};
  };
  bool divides_shards() const;
  std::optional<Entry> read();
  bool find_next();
  void leave_shard();
  void read_buffer(const at::Tensor& places);
  State description() const;

  std::shared_ptr<ShardList> shards_;
  StreamOptions options_;
  int64_t buffer_size_;
  std::unique_ptr<ShardFiles> files_;  // shards of this rank
  int64_t turn_ = 0;                   // index into their order
  int64_t offset_ = 0;                 // byte offset of the next sample in its shard
  int64_t read_ = 0, given_ = 0;
  std::unique_ptr<TarShardReader> reader_ = {};
  std::vector<Entry> buffer_ = {};
};

}  // namespace levin::data
