#include <levin/core/system/private_folder.h>
#include <levin/core/system/error.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace levin {

PrivateFolder::PrivateFolder(const std::string& purpose) {
  std::string name = (std::filesystem::temp_directory_path() / ("levin_" + purpose + "_XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error(name, ": no temporary folder can be made: ", std::generic_category().message(errno));
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace levin
