#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace levin::cli {

/// What goes of a run, or the run itself.
struct Removal {
  std::filesystem::path run = {};
  std::vector<std::filesystem::path> paths = {};
  uintmax_t bytes = 0;
};

/// Prints what would go, and asks on std::cin unless `yes`; returns whether the user agrees.
bool agrees(const std::vector<Removal>& removals, bool yes);

/// Removes a file, or a folder with all it has. Throws levin::UsageError if it cannot be removed.
void remove_path(const std::filesystem::path& path);

}  // namespace levin::cli
