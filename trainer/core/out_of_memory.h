#pragma once
#include <exception>

namespace levin {

/// Whether an exception says that memory ran out: LibTorch's on the CPU or a GPU, std::bad_alloc, cuDNN's and cuBLAS's,
/// or another whose text tells of one of these (a loader's worker, a replica).
bool is_out_of_memory(const std::exception& error);

}  // namespace levin
