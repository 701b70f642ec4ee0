#pragma once
#include <levin/program/sweep/parameter.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::sweep {

/// A text for each parameter, in their order.
using Assignment = std::vector<std::string>;

/// Returns all combinations of the parameters' points; the last parameter varies fastest. Throws levin::UsageError if a
/// range has no number of points, and for more than 100,000 combinations.
std::vector<Assignment> grid(const std::vector<Parameter>& parameters);

/// Returns `count` assignments drawn at random, all different; fewer if there are no more. The first n of them are the
/// same for each count.
std::vector<Assignment> draw(const std::vector<Parameter>& parameters, int64_t count, int64_t seed);

}  // namespace levin::sweep
