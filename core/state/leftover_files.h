#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

/// Returns the name of the temporary file in which a process writes the file `name`: ".NAME.PID.N.tmp".
std::string temporary_name(const std::string& name, ::pid_t process, uint64_t number);

/// Returns whether a process with this PID runs on this machine.
bool runs_here(::pid_t process);

/// Removes those temporary files in `folder` for files with this extension (".ckpt"; empty: any) whose process has
/// ended. A file stays while a process holds its lock, while a process with its PID runs on this machine, and, if it is
/// a hard link to another file, for one hour; without `keeps_links` such a link goes too: for a folder of which this
/// process has the lock.
void remove_leftovers(const std::filesystem::path& folder, const std::string& extension, bool keeps_links = true);

/// Returns whether a temporary file for `path` lies beside it: a process is writing it, or was killed there.
bool has_temporary_file(const std::filesystem::path& path);

/// Returns true at this process's first call for that folder and kind of files.
bool is_first_visit(const std::filesystem::path& folder, const std::string& kind);

/// Calls `remove_leftovers`, but only on this process's first call for that folder and extension.
void remove_leftovers_once(const std::filesystem::path& folder, const std::string& extension);

}  // namespace levin
