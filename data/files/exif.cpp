#include <levin/data/files/exif.h>
#include <levin/data/files/image_codecs.h>

#include <cstddef>

namespace levin::data {
namespace {

/// Returns the integer of `width` bytes at `place`; 0 if the text ends before.
uint32_t number_at(std::string_view bytes, size_t place, size_t width, bool is_little) {
  if (place > bytes.size() || bytes.size() - place < width) return 0;
  uint32_t value = 0;
  for (size_t i = 0; i < width; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[place + (is_little ? width - 1 - i : i)]);
  return value;
}

/// Returns the orientation in the tags of a TIFF.
int64_t orientation_of_tiff(std::string_view tiff) {
  constexpr uint32_t kOrientation = 0x0112, kMost = 8;
  constexpr size_t kEntry = 12;
  const bool is_little = tiff.starts_with("II");
  if (!is_little && !tiff.starts_with("MM")) return kUpright;
  const size_t directory = number_at(tiff, 4, 4, is_little);
  const size_t entries = number_at(tiff, directory, 2, is_little);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntry;
    if (number_at(tiff, entry, 2, is_little) != kOrientation) continue;
    const uint32_t value = number_at(tiff, entry + 8, 2, is_little);
    return value >= 1 && value <= kMost ? value : kUpright;
  }
  return kUpright;
}

constexpr std::string_view kExif = std::string_view("Exif\0\0", 6);

int64_t orientation_of_jpeg(std::string_view file) {
  constexpr unsigned char kMarker = 0xff, kApp1 = 0xe1, kScan = 0xda;
  for (size_t at = 2; at + 4 <= file.size();) {
    const auto marker = static_cast<unsigned char>(file[at + 1]);
    if (static_cast<unsigned char>(file[at]) != kMarker || marker == kScan) break;
    const size_t length = number_at(file, at + 2, 2, /*is_little=*/false);
    const std::string_view segment = file.substr(at + 4, length < 2 ? 0 : length - 2);
    if (marker == kApp1 && segment.starts_with(kExif)) return orientation_of_tiff(segment.substr(kExif.size()));
    at += 2 + (length < 2 ? 2 : length);
  }
  return kUpright;
}

/// Returns the content of the first chunk called `name`, from `at` on; empty if there is none. A chunk has its size and
/// its name, in the order that `name_first` says, then its content, then `behind` bytes; with `name_first` the next one
/// begins at an even place.
std::string_view chunk_of(std::string_view file, std::string_view name, size_t at, bool name_first, size_t behind) {
  constexpr size_t kHead = 8;
  while (at + kHead <= file.size()) {
    const size_t size = number_at(file, name_first ? at + 4 : at, 4, /*is_little=*/name_first);
    if (file.substr(name_first ? at : at + 4, 4) == name) return file.substr(at + kHead, size);
    at += kHead + size + behind + (name_first ? size % 2 : 0);
  }
  return {};
}

}  // namespace

int64_t exif_orientation(std::string_view file) {
  if (is_jpeg(file)) return orientation_of_jpeg(file);
  if (is_tiff(file)) return orientation_of_tiff(file);
  std::string_view exif = is_png(file)    ? chunk_of(file, "eXIf", 8, /*name_first=*/false, 4)
                          : is_webp(file) ? chunk_of(file, "EXIF", 12, /*name_first=*/true, 0)
                                          : std::string_view();
  if (exif.starts_with(kExif)) exif.remove_prefix(kExif.size());
  return orientation_of_tiff(exif);
}

}  // namespace levin::data
