#pragma once
#include <cstdint>

namespace levin::data {

/// Seconds without a connection, or without a byte, after which a call fails: LEVIN_REMOTE_TIMEOUT, or 30.
double remote_timeout_seconds();

/// How many consecutive repetitions of a call may bring no new byte: LEVIN_REMOTE_RETRIES, or 5.
int64_t remote_retries();

/// Returns the most bytes of the copies of remote files that stay in the cache folder: LEVIN_CACHE_BYTES, or 50 GB.
int64_t cache_bytes();

}  // namespace levin::data
