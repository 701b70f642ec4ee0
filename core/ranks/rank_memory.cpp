#include <levin/core/ranks/rank_memory.h>
#include <levin/core/ranks/memory/mappable_memory.h>
#include <levin/core/ranks/memory/rank_slots.h>
#include <levin/core/system/error.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <cstring>

namespace levin {

bool share_memory(c10d::ProcessGroup& group) { return group.getBackend(c10::kCPU)->getBackendName() == "memory"; }

void make_mappable(const c10::Storage& storage, c10d::ProcessGroup& group) {
  const size_t bytes = storage.nbytes();
  if (!storage.device().is_cpu() || bytes <= RankSlots::kSlotBytes || place_of(storage.data(), bytes).block_bytes > 0 ||
      !share_memory(group))
    return;
  try {
    c10::DataPtr memory = mappable_memory(bytes);
    std::memcpy(memory.get(), storage.data(), bytes);
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(memory));
  } catch (const Error&) {  // collectives go through the slots
  }
}

}  // namespace levin
