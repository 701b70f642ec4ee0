#pragma once
#include <chrono>
#include <string>

namespace levin {

/// Whether only processes of the same machine reach this address: "localhost", "::1" or "127....".
bool is_loopback(const std::string& host);

/// Returns once the name of a host can be resolved. A name that does not exist is an error at once; while the name
/// service does not answer, it is asked again for at most ten seconds, and no longer than `timeout`. Throws
/// levin::UsageError that begins with `variable`, from which the name is.
void check_resolvable(const std::string& host, const char* variable, std::chrono::milliseconds timeout);

}  // namespace levin
