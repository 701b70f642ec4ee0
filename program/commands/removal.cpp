#include <levin/program/commands/removal.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/report.h>

#include <iostream>
#include <string>
#include <system_error>

namespace levin::cli {

namespace fs = std::filesystem;

bool agrees(const std::vector<Removal>& removals, bool yes) {
  size_t count = 0;
  uintmax_t bytes = 0;
  for (const Removal& removal : removals) {
    for (const fs::path& path : removal.paths) std::cout << path.string() << "\n";
    count += removal.paths.size();
    bytes += removal.bytes;
  }
  std::cout << count << " to remove, " << short_number(static_cast<double>(bytes) / 1e6) << " MB" << std::endl;
  if (yes) return true;
  std::cout << "remove? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "yes") return true;
  std::cout << "nothing was removed" << std::endl;
  return false;
}

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw UsageError(path.string(), " cannot be removed: ", error.message());
}

}  // namespace levin::cli
