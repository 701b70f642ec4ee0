#pragma once
#include <map>
#include <string>

namespace levin {

/// Names and values of logged metrics, in order of name.
using Metrics = std::map<std::string, double>;

}  // namespace levin
