#include <levin/core/ranks/memory/mappable_memory.h>
#include <levin/core/system/error.h>
#include <levin/core/system/random_id.h>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace levin {
namespace {

/// The head of a block. It takes a whole page, so that the bytes behind it are aligned.
struct BlockHead {
  std::array<char, 32> id;          ///< another block that takes the number of this one's descriptor has another id
  std::atomic<uint32_t> has_ended;  ///< its process no longer uses it
};
constexpr size_t kHeadBytes = 4096;
static_assert(sizeof(BlockHead) <= kHeadBytes && std::atomic<uint32_t>::is_always_lock_free);

BlockHead& head_of(const SharedBlock& block) { return *reinterpret_cast<BlockHead*>(block.data()); }

/// The blocks that this process has made, by the first byte after their heads.
class OwnBlocks {
 public:
  /// The object outlives all tensors.
  static OwnBlocks& of_process() {
    static auto* const all = new OwnBlocks;
    return *all;
  }
  c10::DataPtr make(size_t bytes) {
    SharedBlock block(kHeadBytes + bytes);
    const std::string id = random_id();
    std::memcpy(head_of(block).id.data(), id.data(), std::min(id.size(), head_of(block).id.size()));
    std::byte* const data = block.data() + kHeadBytes;
    const std::lock_guard lock(mutex_);
    blocks_.emplace(data, std::move(block));
    return {data, data, &OwnBlocks::end, c10::kCPU};
  }
  MemoryPlace place_of(const std::byte* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto next = blocks_.upper_bound(data);
    if (next == blocks_.begin()) return {};
    const auto& [first, block] = *--next;
    const size_t offset = static_cast<size_t>(data - first) + kHeadBytes;
    if (offset > block.bytes() || bytes > block.bytes() - offset) return {};
    return {.process = getpid(),
            .descriptor = block.descriptor(),
            .block_bytes = static_cast<int64_t>(block.bytes()),
            .offset = static_cast<int64_t>(offset),
            .id = head_of(block).id};
  }

 private:
  static void end(void* data) {
    OwnBlocks& all = of_process();
    const std::lock_guard lock(all.mutex_);
    const auto found = all.blocks_.find(static_cast<std::byte*>(data));
    head_of(found->second).has_ended.store(1);
    all.blocks_.erase(found);
  }

  std::mutex mutex_;
  std::map<const std::byte*, SharedBlock> blocks_;
};

}  // namespace

c10::DataPtr mappable_memory(size_t bytes) { return OwnBlocks::of_process().make(bytes); }

MemoryPlace place_of(const void* data, size_t bytes) {
  return OwnBlocks::of_process().place_of(static_cast<const std::byte*>(data), bytes);
}

PeerMemory::Bytes PeerMemory::map(const MemoryPlace& place, size_t bytes) {
  const auto size = static_cast<size_t>(place.block_bytes), offset = static_cast<size_t>(place.offset);
  if (size < kHeadBytes || offset < kHeadBytes || offset > size || bytes > size - offset)
    throw Error("memory of process ", place.process, ": a block of ", size, " bytes does not hold ", bytes,
                " bytes from ", offset, " on");
  auto found = std::ranges::find_if(blocks_, [&](const auto& one) { return head_of(*one).id == place.id; });
  if (found == blocks_.end()) {
    std::erase_if(blocks_, [](const auto& one) { return head_of(*one).has_ended.load() != 0; });
    auto block = std::make_shared<const SharedBlock>(place.process, place.descriptor, size);
    if (head_of(*block).id != place.id) throw Error("memory of process ", place.process, ": another block is there");
    found = blocks_.insert(blocks_.end(), std::move(block));
  }
  if ((*found)->bytes() != size) throw Error("memory of process ", place.process, ": the block has another size");
  return {*found, (*found)->data() + offset};
}

}  // namespace levin
