#pragma once
#include <cstddef>

namespace levin {

/// Copies memory with all compute threads. Large copies bypass the caches, so use it for memory that is not read soon
/// after.
void copy_bytes(void* to, const void* from, size_t bytes);

}  // namespace levin
