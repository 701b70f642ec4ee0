#pragma once
#include <string>
#include <vector>

namespace levin::compiled {

/// Returns the kind of this machine and the instruction sets of its CPU: {"x86_64", "avx2", "avx512f", ...}.
std::vector<std::string> cpu_features();
/// Returns those of `needed` that this machine lacks.
std::vector<std::string> missing_features(const std::vector<std::string>& needed);

}  // namespace levin::compiled
