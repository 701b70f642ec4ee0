#include <levin/trainer/cli/config/config_file.h>
#include <levin/trainer/cli/config/config_text.h>
#include <levin/trainer/core/system/error.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace levin::cli {
namespace {

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw UsageError("--config: ", path, " is a folder, not a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("--config: cannot read ", path, ": ", std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Config read_config_file(const std::string& path) { return parse_config(path, read_text(path)); }

}  // namespace levin::cli
