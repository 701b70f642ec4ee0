#pragma once
#include <filesystem>
#include <ostream>

namespace levin::cli {

/// Prints the differences between two files: names in only one, shapes, dtypes, values further apart than `tolerance`.
/// If one file holds only weights, it is compared with the other's weights. Returns whether nothing differs.
bool ckpt_diff(std::ostream& out, const std::filesystem::path& a, const std::filesystem::path& b, double tolerance);

}  // namespace levin::cli
