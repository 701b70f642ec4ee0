#pragma once
#include <string>

namespace levin {

/// Returns a text that is the same for two processes if they are of one user on one machine, see each other by their
/// numbers, and have one network: what is cut off from the others by its network is another machine.
std::string machine_of_process();

/// Returns the part of such a text that is the same for processes that have one network on one computer.
std::string network_of(const std::string& machine);

}  // namespace levin
