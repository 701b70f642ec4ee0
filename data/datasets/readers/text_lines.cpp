#include <levin/data/datasets/readers/text_lines.h>

#include <algorithm>

namespace levin::data {

TextLines::TextLines(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const LineFile& added = files_.emplace_back(file);
    ends_.push_back(size() + added.size());
  }
}

TextLines::Place TextLines::find(int64_t index) const {
  const auto end = std::ranges::upper_bound(ends_, index);
  const auto file = static_cast<size_t>(end - ends_.begin());
  return {files_[file], index - (file == 0 ? 0 : ends_[file - 1])};
}

std::string_view TextLines::line(int64_t index) const {
  const Place place = find(index);
  return place.file.line(place.line);
}

std::string TextLines::place(int64_t index) const {
  const Place place = find(index);
  return place.file.place(place.line);
}

bool is_held_out(std::string_view line, double share) {
  // FNV-1a, whose bits the finalizer of splitmix64 mixes: https://prng.di.unimi.it/splitmix64.c
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : line) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
  hash ^= hash >> 31;
  return static_cast<double>(hash >> 11) * 0x1p-53 < share;
}

}  // namespace levin::data
