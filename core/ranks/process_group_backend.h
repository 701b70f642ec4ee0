#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// The backend of a run's collectives.
enum class ProcessGroupBackend : uint8_t {
  Auto,  ///< Gloo for tensors on the CPU, NCCL for those on a GPU
  Mpi,   ///< MPI for tensors on the CPU, if LibTorch has it
};
template <>
inline constexpr auto kWords<ProcessGroupBackend> =
    words_of<ProcessGroupBackend>({{"auto", ProcessGroupBackend::Auto}, {"mpi", ProcessGroupBackend::Mpi}});

}  // namespace levin
