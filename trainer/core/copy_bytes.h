#pragma once
#include <cstddef>

namespace levin {

/// memcpy on all compute threads, past the caches where there is much to copy: for memory that is not read again soon.
void copy_bytes(void* to, const void* from, size_t bytes);

}  // namespace levin
