#pragma once
#include <string>

namespace levin {

/// Returns the Python whose torch LibTorch is a part of; python3 if it is of no Python.
std::string python_of_libtorch();

}  // namespace levin
