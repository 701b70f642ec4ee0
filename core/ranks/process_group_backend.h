#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// The backend of a run's collectives.
enum class ProcessGroupBackend : uint8_t {
  Auto,  ///< for tensors on the CPU memory that the ranks of a machine share, and Gloo between machines; NCCL for those
         ///< on a GPU
  Gloo,  ///< Gloo for tensors on the CPU, also on one machine
  Mpi,   ///< MPI for tensors on the CPU, by liblevin_mpi.so
};
template <>
inline constexpr auto kWords<ProcessGroupBackend> = words_of<ProcessGroupBackend>(
    {{"auto", ProcessGroupBackend::Auto}, {"gloo", ProcessGroupBackend::Gloo}, {"mpi", ProcessGroupBackend::Mpi}});

}  // namespace levin
