#pragma once
#include <string>

namespace levin {

/// The name of this machine; "localhost" if the system tells none.
std::string host_name();

}  // namespace levin
