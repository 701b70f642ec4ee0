#include <levin/data/tables/block_sampler.h>
#include <levin/data/loading/permutation.h>
#include <levin/data/rng.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

/// Some blocks whose samples are shuffled together.
struct Group {
  std::vector<int64_t> begins = {}, ends = {};  ///< of each block: its first sample, and where it ends in the group
  int64_t first = 0;                            ///< the place in the lane where the group begins
  Permutation order{1, 0};

  int64_t size() const { return ends.back(); }
  int64_t sample(int64_t place) const {
    const int64_t drawn = order[place];
    const auto block = static_cast<size_t>(std::ranges::upper_bound(ends, drawn) - ends.begin());
    return begins[block] + drawn - (block == 0 ? 0 : ends[block - 1]);
  }
};

struct Lane {
  std::vector<Group> groups = {};
  int64_t size = 0, tail = 0;  ///< `tail`: the place in the order of what is no whole batch

  int64_t sample(int64_t place) const {
    const auto behind = std::ranges::upper_bound(groups, place, {}, &Group::first);
    const Group& group = *std::prev(behind);
    return group.sample(place - group.first);
  }
};

class BlockOrder final : public SampleOrder {
 public:
  BlockOrder(std::vector<Lane> lanes, int64_t batch_size) : lanes_(std::move(lanes)), batch_size_(batch_size) {
    int64_t whole = 0;
    for (const Lane& lane : lanes_) {
      size_ += lane.size;
      whole += lane.size / batch_size_;
    }
    int64_t tail = whole_ = whole * batch_size_;
    for (Lane& lane : lanes_) {
      lane.tail = tail;
      tail += lane.size % batch_size_;
    }
  }
  int64_t size() const override { return size_; }
  void at(int64_t position, int64_t count, Indices& out) const override {
    for (int64_t& index : out.resize(count)) index = sample(position++);
  }

 private:
  int64_t sample(int64_t position) const {
    if (position >= whole_) {
      const auto lane = std::prev(std::ranges::upper_bound(lanes_, position, {}, &Lane::tail));
      return lane->sample(lane->size / batch_size_ * batch_size_ + position - lane->tail);
    }
    // The lanes' rounds: those with fewer batches drop out.
    int64_t batch = position / batch_size_, round = 0;
    while (true) {
      int64_t active = 0, fewest = 0;
      for (const Lane& lane : lanes_) {
        const int64_t left = lane.size / batch_size_ - round;
        if (left <= 0) continue;
        fewest = active == 0 ? left : std::min(fewest, left);
        ++active;
      }
      if (batch >= active * fewest) {
        batch -= active * fewest;
        round += fewest;
        continue;
      }
      int64_t turn = batch % active;
      const int64_t place = (round + batch / active) * batch_size_ + position % batch_size_;
      for (const Lane& lane : lanes_)
        if (lane.size / batch_size_ > round && turn-- == 0) return lane.sample(place);
    }
  }

  std::vector<Lane> lanes_;
  int64_t batch_size_, size_ = 0, whole_ = 0;
};

}  // namespace

BlockSampler::BlockSampler(std::vector<int64_t> sizes, int64_t batch_size, int64_t lanes, int64_t group)
    : batch_size_(batch_size), lanes_(lanes), group_(group) {
  for (const int64_t size : sizes) begins_.push_back(begins_.back() + size);
}

std::shared_ptr<const SampleOrder> BlockSampler::order(uint64_t seed, int64_t epoch) const {
  Rng rng(seed, epoch, -1);  // as the other samplers
  std::vector<int64_t> blocks;
  for (int64_t block = 0; block + 1 < std::ssize(begins_); ++block)
    if (begins_[static_cast<size_t>(block) + 1] > begins_[static_cast<size_t>(block)]) blocks.push_back(block);
  for (size_t i = blocks.size(); i-- > 1;)
    std::swap(blocks[i], blocks[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(i) + 1))]);
  std::vector<Lane> lanes(static_cast<size_t>(lanes_));
  std::vector<int64_t> in_last(lanes.size(), group_);  // blocks of each lane's last group
  for (const int64_t block : blocks) {
    const auto least = std::ranges::min_element(lanes, {}, &Lane::size);
    int64_t& count = in_last[static_cast<size_t>(least - lanes.begin())];
    if (count == group_) {
      least->groups.push_back({.first = least->size});
      count = 0;
    }
    Group& last = least->groups.back();
    const int64_t begin = begins_[static_cast<size_t>(block)], size = begins_[static_cast<size_t>(block) + 1] - begin;
    last.begins.push_back(begin);
    last.ends.push_back((last.ends.empty() ? 0 : last.ends.back()) + size);
    least->size += size;
    ++count;
  }
  for (Lane& lane : lanes)
    for (Group& one : lane.groups) {
      const uint64_t high = rng();
      one.order = Permutation(one.size(), high << 32 | rng());
    }
  return std::make_shared<const BlockOrder>(std::move(lanes), batch_size_);
}

BlockLanes lanes_for(int64_t blocks, int64_t largest_block, int64_t most_bytes) {
  // A block that a group needs next is read before those of the last one are dropped.
  const int64_t room = std::max<int64_t>(1, most_bytes / std::max<int64_t>(1, largest_block) * 3 / 4);
  const int64_t most = std::min(room, blocks);
  for (const int64_t lanes : {24, 12, 8, 6, 4, 3, 2})
    if (lanes <= most) return {.lanes = lanes, .group = std::clamp<int64_t>(most / lanes, 1, 2)};
  return {};
}

}  // namespace levin::data
