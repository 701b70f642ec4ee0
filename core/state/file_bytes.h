#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace levin {

/// The bytes of a file in memory, with the owner that keeps them there.
///
/// The bytes may be written to, for example through a tensor on top of them. In a mapped file such writes change only
/// this process's view.
struct FileBytes {
  std::string name = {};             ///< the file's name, for messages
  std::shared_ptr<void> owner = {};  ///< holds the memory
  char* data = nullptr;
  size_t size = 0;

  std::string_view text() const { return {data, size}; }
};

/// Maps a whole file; the system reads pages as they are used. As with every mapping, this process dies of SIGBUS if
/// another process truncates the file while it is mapped; levin's own writers replace files and never change them.
/// Throws levin::UsageError that names the file if it is missing, a folder, not a plain file, or cannot be opened.
FileBytes map_file_bytes(const std::filesystem::path& path);

/// Returns whether a file has `bytes` from byte `first` on. Reads it piece by piece, so that little of it is in memory
/// at once. Throws as map_file_bytes does.
bool file_has_bytes(const std::filesystem::path& path, uint64_t first, std::string_view bytes);

/// Copies `bytes`; `name` is for messages.
FileBytes copy_file_bytes(std::string_view bytes, std::string name);

}  // namespace levin
