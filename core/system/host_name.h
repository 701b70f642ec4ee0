#pragma once
#include <string>

namespace levin {

/// Returns the name of this machine; "localhost" if the system has none.
std::string host_name();

}  // namespace levin
