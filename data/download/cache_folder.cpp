#include <levin/data/download/cache_folder.h>

#include <cstdlib>

namespace levin::data {

std::filesystem::path cache_folder() {
  if (const char* folder = std::getenv("LEVIN_CACHE"); folder && *folder) return folder;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : ".") / ".cache" / "levin";
}

}  // namespace levin::data
