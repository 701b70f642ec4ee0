#pragma once
#include <exception>

namespace levin {

/// Returns whether an exception says that memory ran out: LibTorch's for the CPU or a GPU, std::bad_alloc, cuDNN's and
/// cuBLAS's, or another exception that quotes one of these (from a loader's worker or a replica).
bool is_out_of_memory(const std::exception& error);

}  // namespace levin
