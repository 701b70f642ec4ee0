#include <levin/program/cli/load_plugin.h>
#include <dlfcn.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/plugin.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace levin::cli {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) throw UsageError("--plugin: cannot read ", path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns what a plugin was built with; empty for a file without the mark.
std::string build_in(const std::string& bytes) {
  const size_t found = bytes.find(detail::kPluginMark);
  if (found == std::string::npos) return "";
  const size_t begin = found + detail::kPluginMark.size();
  const size_t end = std::min(bytes.find('\0', begin), begin + std::tuple_size_v<detail::PluginAbi>);
  return bytes.substr(begin, std::min(end, bytes.size()) - begin);
}

/// A plugin runs with this user's rights. Throws levin::UsageError if others could have written it: all, by the
/// permissions of the file or its folder, or another user, who owns it. Warns of a group that could.
void check_writers(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::canonical(path);
  for (const std::filesystem::path& place : {file, file.parent_path()}) {
    struct stat about = {};
    if (::stat(place.c_str(), &about) != 0) continue;
    const auto refuse = [&](const char* why) {
      throw UsageError("--plugin: ", path.string(), ": ", place.string(), why,
                       "; what a plugin does is done in your name, so let it be yours alone (chmod go-w)");
    };
    const bool only_own_are_removed = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    if ((about.st_mode & S_IWOTH) != 0 && !only_own_are_removed) refuse(" can be written by all users");
    if (about.st_uid != 0 && about.st_uid != ::geteuid()) refuse(" belongs to another user");
    if ((about.st_mode & S_IWGRP) != 0 && about.st_gid != ::getegid() && about.st_gid != 0)
      console::warn("--plugin: " + place.string() + " can be written by a group of users");
  }
}

std::vector<std::string>& loaded() {
  static std::vector<std::string> flags;
  return flags;
}

}  // namespace

const std::vector<std::string>& plugin_flags() { return loaded(); }

void load_plugin(const std::filesystem::path& path) {
  static constexpr detail::PluginAbi kOwn = detail::plugin_abi();
  const std::string own = build_in(std::string(kOwn.data(), kOwn.size()));
  const std::string theirs = build_in(bytes_of(path));
  if (theirs.empty())
    throw UsageError(
        "--plugin: ", path.string(),
        " is no plugin of levin; write LEVIN_PLUGIN(); in one of its sources (levin/program/cli/plugin.h)");
  if (theirs != own)
    throw UsageError("--plugin: ", path.string(), " was built with ", theirs, ", and this program with ", own,
                     "; build the plugin again with the headers, LibTorch and compiler of this program");
  check_writers(path);
  if (dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    throw UsageError("--plugin: ", path.string(), " cannot be loaded: ", dlerror());
  loaded().insert(loaded().end(), {"--plugin", path.string()});
}

}  // namespace levin::cli
