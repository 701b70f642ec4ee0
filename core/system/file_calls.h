#pragma once
#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace levin {

/// System calls on files that a signal does not interrupt: each retries after EINTR, which network file systems and
/// FUSE return, and after a partial write. All but `open_file` return 0, or the errno.

/// As open(2).
int open_file(const char* path, int flags, ::mode_t mode = 0);
/// Writes all bytes at the file's position. After an error a part of them may be in the file.
int write_all(int descriptor, const void* data, size_t bytes);
/// Reads a whole file into `text`. What is no plain file is an error.
int read_file(const std::filesystem::path& path, std::string& text);
/// Returns whether an errno says nothing of the file itself: a device fails, or a limit is reached. A reader that takes
/// the file as missing would be wrong.
bool is_of_system(int error);
/// Waits until the file is on the disk. One that cannot be synced, a pipe for example, is no error.
int sync_file(int descriptor);

}  // namespace levin
