#include <levin/program/sweep/proposals.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <random>
#include <set>

namespace levin::sweep {
namespace {

constexpr size_t kMostTrials = 100'000;
/// Draws of an assignment before the space counts as used up.
constexpr int kTries = 1000;

/// Returns a number in [0, 1), the same on each platform.
double uniform_of(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1.0p-53; }

}  // namespace

std::vector<Assignment> grid(const std::vector<Parameter>& parameters) {
  std::vector<Assignment> all = {{}};
  for (const Parameter& parameter : parameters) {
    const std::vector<std::string> points = parameter.points();
    if (all.size() * points.size() > kMostTrials)
      throw UsageError("sweep: the grid has more than ", kMostTrials, " trials; choose --method random with --trials");
    std::vector<Assignment> longer;
    for (const Assignment& one : all)
      for (const std::string& point : points) {
        longer.push_back(one);
        longer.back().push_back(point);
      }
    all = std::move(longer);
  }
  return all;
}

std::vector<Assignment> draw(const std::vector<Parameter>& parameters, int64_t count, int64_t seed) {
  double space = 1;
  for (const Parameter& parameter : parameters) space *= parameter.count().value_or(1e18);
  std::mt19937_64 generator(static_cast<uint64_t>(seed));
  std::vector<Assignment> all;
  std::set<Assignment> known;
  for (int tries = 0; static_cast<int64_t>(all.size()) < count && static_cast<double>(all.size()) < space;) {
    Assignment one;
    for (const Parameter& parameter : parameters) one.push_back(parameter.draw(uniform_of(generator)));
    if (known.insert(one).second) {
      all.push_back(std::move(one));
      tries = 0;
    } else if (++tries == kTries) {
      break;
    }
  }
  return all;
}

}  // namespace levin::sweep
