#pragma once
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

namespace c10d {
class ProcessGroup;
}

namespace levin {

/// Rank 0 of ranks that are not there: nothing is sent, and what would come from others is this rank's own. For plans.
c10::intrusive_ptr<c10d::ProcessGroup> make_absent_ranks(int64_t world_size, c10::Device device);

}  // namespace levin
