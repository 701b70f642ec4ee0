#pragma once
#include <cstdint>

namespace levin::data {

/// Seconds without a connection, or without a byte, after which a call fails: LEVIN_REMOTE_TIMEOUT, or 30.
double remote_timeout_seconds();

/// How many consecutive repetitions of a call may bring no new byte: LEVIN_REMOTE_RETRIES, or 5.
int64_t remote_retries();

}  // namespace levin::data
