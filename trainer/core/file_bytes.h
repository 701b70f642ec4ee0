#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace levin {

/// The bytes of a file in memory, and what keeps them there.
///
/// They may be written to, through a tensor that lies in them say: of a mapped file that changes this process's view
/// alone.
struct FileBytes {
  std::string name = {};             ///< for messages
  std::shared_ptr<void> owner = {};  ///< holds the memory
  char* data = nullptr;
  size_t size = 0;

  std::string_view text() const { return {data, size}; }
};

/// Maps a whole file: the system reads what is touched. A file that another process cuts short while it is mapped ends
/// this one with SIGBUS, as with every mapping; levin's own writers replace files and never change them.
/// Throws levin::UsageError that names the file: missing, a folder, no plain file, not to be opened.
FileBytes map_file_bytes(const std::filesystem::path& path);

/// A copy of `bytes`, under a name for messages.
FileBytes copy_file_bytes(std::string_view bytes, std::string name);

}  // namespace levin
