#pragma once
#include <levin/core/state/file_bytes.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// The lines of a text file, mapped into memory; a compressed file (see is_compressed) is unpacked into memory. Lines
/// end in LF or CRLF, which are no part of them. Blank lines are left out, as is a byte order mark.
class LineFile {
 public:
  /// Looks through the file for its lines, and keeps 8 bytes for each, blank ones too. An empty file has none. Throws
  /// levin::UsageError that names the file if it cannot be read or unpacked.
  explicit LineFile(const std::filesystem::path& path);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  int64_t size() const { return static_cast<int64_t>(begins_.size()); }
  std::string_view line(int64_t index) const;
  /// Returns "file: line n", with blank lines counted, from 1.
  std::string place(int64_t index) const;

 private:
  FileBytes file_;
  std::string unpacked_ = {};
  std::string_view text_ = {};
  std::vector<int64_t> begins_ = {};
  std::vector<int64_t> blanks_ = {};  // for each blank line, the index of the next one that is not
};

}  // namespace levin::data
