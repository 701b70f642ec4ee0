#pragma once
#include <chrono>
#include <string>

namespace levin {

/// Returns whether `host` is an address that only processes of the same machine reach: "localhost", "::1" or "127....".
bool is_loopback(const std::string& host);

/// Waits until a host name can be resolved. A name that does not exist is an error at once; while the name service does
/// not answer, it retries for at most ten seconds, and no longer than `timeout`. Throws levin::UsageError whose text
/// starts with `variable`, the environment variable that holds the name.
void check_resolvable(const std::string& host, const char* variable, std::chrono::milliseconds timeout);

}  // namespace levin
