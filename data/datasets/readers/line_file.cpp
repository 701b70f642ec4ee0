#include <levin/data/datasets/readers/line_file.h>
#include <levin/data/files/decompress.h>
#include <levin/data/files/utf8.h>

#include <algorithm>

namespace levin::data {
namespace {

/// Returns the end of the line that begins at `begin`: its LF, or the end of the text.
size_t end_of_line(std::string_view text, size_t begin) { return std::min(text.find('\n', begin), text.size()); }

bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

}  // namespace

LineFile::LineFile(const std::filesystem::path& path) : file_(map_file_bytes(path)), text_(file_.text()) {
  if (is_compressed(text_)) {
    unpacked_ = decompress(file_);
    file_.owner = nullptr;
    text_ = unpacked_;
  }
  size_t begin = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (begin < text_.size()) {
    const size_t end = end_of_line(text_, begin);
    if (is_blank_line(text_.substr(begin, end - begin)))
      blanks_.push_back(size());
    else
      begins_.push_back(static_cast<int64_t>(begin));
    begin = end + 1;
  }
}

std::string_view LineFile::line(int64_t index) const {
  const auto begin = static_cast<size_t>(begins_[static_cast<size_t>(index)]);
  std::string_view line = text_.substr(begin, end_of_line(text_, begin) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string LineFile::place(int64_t index) const {
  const int64_t blanks = std::ranges::upper_bound(blanks_, index) - blanks_.begin();
  return file_.name + ": line " + std::to_string(1 + index + blanks);
}

}  // namespace levin::data
