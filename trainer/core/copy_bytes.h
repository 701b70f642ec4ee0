#pragma once
#include <cstddef>

namespace levin {

/// memcpy on all compute threads: one alone does not fill the memory's bandwidth.
void copy_bytes(void* to, const void* from, size_t bytes);

}  // namespace levin
