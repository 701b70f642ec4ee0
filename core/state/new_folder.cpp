#include <levin/core/state/new_folder.h>

#include <system_error>

namespace levin {
namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, ignored); at = at.parent_path()) made_.push_back(at);
  try {
    fs::create_directories(folder);
  } catch (const fs::filesystem_error&) {  // which may have made some of them
    remove_empty();
    throw;
  }
}

NewFolder::~NewFolder() { remove_empty(); }

void NewFolder::remove_empty() {
  std::error_code ignored;  // one that is not empty stays
  for (const fs::path& folder : made_) fs::remove(folder, ignored);
}

}  // namespace levin
