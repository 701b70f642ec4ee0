#pragma once
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

namespace c10d {
class ProcessGroup;
}

namespace levin {

/// Makes a stub process group of `world_size` ranks for dry runs, in which this process is rank 0. Nothing is sent:
/// collectives return this rank's own tensors.
c10::intrusive_ptr<c10d::ProcessGroup> make_absent_ranks(int64_t world_size, c10::Device device);

}  // namespace levin
