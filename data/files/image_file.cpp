#include <levin/data/files/image_file.h>
#include <fcntl.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/hex_digits.h>
#include <levin/data/files/exif.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

class OpenFile {
 public:
  explicit OpenFile(const fs::path& path) : path_(path), file_(open_file(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw UsageError(path.string(), ": cannot be opened: ", std::strerror(errno));
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::string bytes() const {
    struct stat about = {};
    if (::fstat(file_, &about) != 0) fail();
    std::string bytes(static_cast<size_t>(std::max<off_t>(about.st_size, 0)), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = ::read(file_, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

 private:
  [[noreturn]] void fail() const { throw UsageError(path_.string(), ": cannot be read: ", std::strerror(errno)); }

  const fs::path& path_;
  int file_;
};

/// Turns an image [height, width, channels] as its EXIF orientation says. Orientations 5 to 8 lie on their side: what
/// is stored as a column is a row of the image that is meant.
at::Tensor turned(at::Tensor image, int64_t orientation) {
  const bool lies = orientation >= 5;
  if (lies) image = image.transpose(0, 1);
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  std::vector<int64_t> flipped;
  if (from_below) flipped.push_back(0);
  if (from_right) flipped.push_back(1);
  return (flipped.empty() ? image : image.flip(flipped)).contiguous();
}

using Decode = at::Tensor (*)(std::string_view, const std::string&, const ImageOptions&);

/// Returns what decodes the format that the first bytes tell; null for others.
Decode decoder_of(std::string_view bytes) {
  if (is_jpeg(bytes)) return decode_jpeg;
  if (is_png(bytes)) return decode_png;
  if (is_tiff(bytes)) return decode_tiff;
  return is_webp(bytes) ? decode_webp : nullptr;
}

}  // namespace

at::Tensor decode_image(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  if (bytes.empty()) throw UsageError(name, ": the file is empty");
  const Decode decode = decoder_of(bytes);
  if (!decode)
    throw UsageError(name, ": not a JPEG, PNG, TIFF or WebP file: it begins with 0x", hex_digits(bytes.substr(0, 4)));
  const int64_t orientation = exif_orientation(bytes);
  ImageOptions as_stored = options;
  if (orientation >= 5) std::swap(as_stored.min_height, as_stored.min_width);
  at::Tensor image = decode(bytes, name, as_stored);
  if (orientation != kUpright) image = turned(std::move(image), orientation);
  return image.permute({2, 0, 1});
}

at::Tensor read_image(const fs::path& path, const ImageOptions& options) {
  const std::string bytes = OpenFile(path).bytes();
  return decode_image(bytes, path.string(), options);
}

void write_png(const fs::path& path, const at::Tensor& image) {
  write_text_file_atomically(followed(path), encode_png(image));
}

void write_jpeg(const fs::path& path, const at::Tensor& image, int64_t quality) {
  write_text_file_atomically(followed(path), encode_jpeg(image, quality));
}

}  // namespace levin::data
