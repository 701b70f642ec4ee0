#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

/// The name under which a process writes the file `name` before it is whole: ".NAME.PID.N.tmp".
std::string temporary_name(const std::string& name, ::pid_t process, uint64_t number);

/// Removes the temporary files of `folder`, for files with this extension (".ckpt"), whose process is gone. A file
/// stays while somebody holds its lock, while a process of that number runs on this machine, and, if it is another name
/// of a whole file, for its first hour.
void remove_leftovers(const std::filesystem::path& folder, const std::string& extension);

/// The same, the first time that this process asks for that folder and extension.
void remove_leftovers_once(const std::filesystem::path& folder, const std::string& extension);

}  // namespace levin
