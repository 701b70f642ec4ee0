#pragma once
#include <string>

namespace levin::data {

/// Returns the program that PythonHost runs: the files of data/python/host in their order.
std::string python_source();

}  // namespace levin::data
