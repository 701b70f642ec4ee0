#include <levin/core/system/error.h>
#include <levin/data/files/image_codecs.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

namespace levin::data {
namespace {

/// Tiles and rows take at most so much memory.
constexpr int64_t kMostTiffBuffer = int64_t{1} << 26;
/// What a byte of a file can hold, in pixels: of LZW 4095 bytes in 12 bits, of deflate 258 in 2; white paper takes a
/// bit for each row.
constexpr int64_t kMostLzw = 2730, kMostDeflate = 1032, kMostOther = int64_t{1} << 14, kAlwaysTiff = int64_t{1} << 24;
constexpr uint16_t kMostTiffSamples = 64;

/// The bytes of a file, as libtiff reads them, and its last message.
struct TiffSource {
  std::string_view bytes;
  uint64_t position = 0;
  std::string message = {};
};

TiffSource& source_of(thandle_t handle) { return *static_cast<TiffSource*>(handle); }

tmsize_t read_some(thandle_t handle, void* to, tmsize_t count) {
  TiffSource& source = source_of(handle);
  const uint64_t left = source.bytes.size() - std::min<uint64_t>(source.position, source.bytes.size());
  const uint64_t got = std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(count, 0)));
  if (got > 0) std::memcpy(to, source.bytes.data() + source.position, got);
  source.position += got;
  return static_cast<tmsize_t>(got);
}

tmsize_t write_none(thandle_t /*handle*/, void* /*from*/, tmsize_t /*count*/) { return 0; }

toff_t seek_to(thandle_t handle, toff_t offset, int from) {
  TiffSource& source = source_of(handle);
  const uint64_t begin = from == SEEK_CUR ? source.position : from == SEEK_END ? source.bytes.size() : 0;
  return source.position = begin + offset;
}

int close_none(thandle_t /*handle*/) { return 0; }
toff_t size_of(thandle_t handle) { return source_of(handle).bytes.size(); }

// From 4.5.0 on, each file may have handlers of its own; older libraries write messages to stderr.
#define LEVIN_TIFF_OPTIONS (TIFFLIB_VERSION >= 20221213)

#if LEVIN_TIFF_OPTIONS
int keep_message(TIFF* /*tiff*/, void* data, const char* /*module*/, const char* format, va_list arguments) {
  char text[200] = {};
  std::vsnprintf(text, sizeof(text), format, arguments);
  source_of(data).message = text;
  return 1;
}

/// Ignores warnings: they concern tags other than the pixels'.
int keep_none(TIFF* /*tiff*/, void* /*data*/, const char* /*module*/, const char* /*format*/, va_list /*arguments*/) {
  return 1;
}
#endif

class TiffFile {
 public:
  TiffFile(std::string_view bytes, const std::string& name) : source_{.bytes = bytes}, name_(name) {
    // "m": not mapped into memory by libtiff.
#if LEVIN_TIFF_OPTIONS
    TIFFOpenOptions* const options = TIFFOpenOptionsAlloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, &source_);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_none, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, tmsize_t{1} << 28);
    tiff_ = TIFFClientOpenExt("image", "rm", &source_, read_some, write_none, seek_to, close_none, size_of, nullptr,
                              nullptr, options);
    TIFFOpenOptionsFree(options);
#else
    tiff_ =
        TIFFClientOpen("image", "rm", &source_, read_some, write_none, seek_to, close_none, size_of, nullptr, nullptr);
#endif
    if (!tiff_) fail();
  }
  ~TiffFile() {
    if (tiff_) TIFFClose(tiff_);
  }
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  TIFF* get() const { return tiff_; }
  int64_t size() const { return static_cast<int64_t>(source_.bytes.size()); }
  const std::string& name() const { return name_; }
  /// Returns a tag's number, or its default.
  template <class Number>
  Number tag(uint32_t tag) const {
    Number value = 0;
    TIFFGetFieldDefaulted(tiff_, tag, &value);
    return value;
  }
  [[noreturn]] void fail() const {
    throw UsageError(name_, ": broken TIFF data", source_.message.empty() ? "" : " (" + source_.message + ")",
                     "; get the file again");
  }

 private:
  TiffSource source_;
  const std::string& name_;
  TIFF* tiff_ = nullptr;
};

struct TiffShape {
  int64_t height = 0, width = 0;
  int64_t bits = 0, samples = 0;  ///< of each pixel; bits of each sample
  uint16_t photometric = 0, compression = 0;
  bool is_planar = false;  ///< one sample after the other

  bool is_gray() const { return photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE; }
  bool has_palette() const { return photometric == PHOTOMETRIC_PALETTE; }
  bool has_indices() const { return is_gray() || has_palette(); }
  /// Returns whether the samples are read as they are; libtiff converts others to red, green and blue.
  bool is_plain() const {
    const bool is_rgb = photometric == PHOTOMETRIC_RGB && samples >= 3 && bits >= 8;
    return is_rgb || (is_gray() && (bits >= 8 || samples == 1)) || (has_palette() && bits <= 8 && samples == 1);
  }
};

TiffShape shape_of(const TiffFile& file, const ImageOptions& options) {
  const TiffShape shape = {.height = file.tag<uint32_t>(TIFFTAG_IMAGELENGTH),
                           .width = file.tag<uint32_t>(TIFFTAG_IMAGEWIDTH),
                           .bits = file.tag<uint16_t>(TIFFTAG_BITSPERSAMPLE),
                           .samples = file.tag<uint16_t>(TIFFTAG_SAMPLESPERPIXEL),
                           .photometric = file.tag<uint16_t>(TIFFTAG_PHOTOMETRIC),
                           .compression = file.tag<uint16_t>(TIFFTAG_COMPRESSION),
                           .is_planar = file.tag<uint16_t>(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE};
  const auto format = file.tag<uint16_t>(TIFFTAG_SAMPLEFORMAT);
  const bool is_known = shape.bits == 1 || shape.bits == 2 || shape.bits == 4 || shape.bits == 8 || shape.bits == 16;
  if (!is_known || (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID))
    throw UsageError(file.name(), ": a TIFF whose samples are ", shape.bits, " bits of ",
                     format == SAMPLEFORMAT_IEEEFP ? "floating point" : "another kind",
                     "; convert it to whole numbers of 8 or 16 bits");
  if (shape.height < 1 || shape.width < 1 || shape.samples < 1 || shape.samples > kMostTiffSamples) file.fail();
  int64_t most = kMostOther;
  if (shape.compression == COMPRESSION_NONE) most = 8;
  if (shape.compression == COMPRESSION_LZW) most = kMostLzw * 8;
  if (shape.compression == COMPRESSION_ADOBE_DEFLATE || shape.compression == COMPRESSION_DEFLATE)
    most = kMostDeflate * 8;
  const bool is_free = most == kMostOther;
  const int64_t pixels = file.size() * most / (is_free ? 1 : shape.bits);
  detail::check_image(file.name(), options, shape.height, shape.width,
                      is_free ? std::max(pixels, kAlwaysTiff) : pixels);
  return shape;
}

/// Returns sample `i` of a row of samples of 1 to 16 bits, in the machine's order.
uint16_t sample_at(const unsigned char* row, int64_t i, int64_t bits) {
  if (bits == 8) return row[i];
  if (bits == 16) {
    uint16_t value = 0;
    std::memcpy(&value, row + 2 * i, sizeof(value));
    return value;
  }
  const int64_t at = i * bits;
  return static_cast<uint16_t>((row[at / 8] >> (8 - bits - at % 8)) & ((1 << bits) - 1));
}

/// The samples of an image that are wanted, as they lie in the file: uint8 or uint16 [height, width, channels].
class TiffSamples {
 public:
  TiffSamples(const TiffFile& file, const TiffShape& shape)
      : file_(file),
        shape_(shape),
        channels_(shape.has_indices() ? 1 : 3),
        image_(detail::empty_image(shape.height, shape.width, channels_, shape.bits == 16 ? at::kUInt16 : at::kByte)) {}

  at::Tensor read() {
    const bool is_tiled = TIFFIsTiled(file_.get()) != 0;
    const int64_t bytes = is_tiled ? TIFFTileSize(file_.get()) : TIFFScanlineSize(file_.get());
    if (bytes < 1 || bytes > kMostTiffBuffer) file_.fail();
    buffer_.resize(static_cast<size_t>(bytes));
    const int64_t planes = shape_.is_planar ? channels_ : 1;
    for (int64_t plane = 0; plane < planes; ++plane) {
      if (is_tiled)
        read_tiles(plane);
      else
        read_lines(plane);
    }
    return image_;
  }

 private:
  int64_t samples_in_row() const { return shape_.is_planar ? 1 : shape_.samples; }

  /// Copies `count` pixels of a row; `at` is its place in the buffer.
  void copy(const unsigned char* from, int64_t row, int64_t column, int64_t count, int64_t plane) {
    const int64_t copied = shape_.is_planar ? 1 : channels_;
    const int64_t to = (row * shape_.width + column) * channels_ + plane;
    for (int64_t x = 0; x < count; ++x) {
      for (int64_t c = 0; c < copied; ++c) {
        const uint16_t value = sample_at(from, x * samples_in_row() + c, shape_.bits);
        if (shape_.bits == 16)
          image_.mutable_data_ptr<uint16_t>()[to + x * channels_ + c] = value;
        else
          image_.mutable_data_ptr<uint8_t>()[to + x * channels_ + c] = static_cast<uint8_t>(value);
      }
    }
  }

  void read_lines(int64_t plane) {
    const int64_t bits = shape_.width * samples_in_row() * shape_.bits;
    if (static_cast<int64_t>(buffer_.size()) < (bits + 7) / 8) file_.fail();
    for (int64_t row = 0; row < shape_.height; ++row) {
      if (TIFFReadScanline(file_.get(), buffer_.data(), static_cast<uint32_t>(row), static_cast<uint16_t>(plane)) != 1)
        file_.fail();
      copy(buffer_.data(), row, 0, shape_.width, plane);
    }
  }

  void read_tiles(int64_t plane) {
    const int64_t height = file_.tag<uint32_t>(TIFFTAG_TILELENGTH), width = file_.tag<uint32_t>(TIFFTAG_TILEWIDTH);
    if (height < 1 || width < 1 || height > kMostTiffBuffer || width > kMostTiffBuffer) file_.fail();
    const int64_t row_bytes = (width * samples_in_row() * shape_.bits + 7) / 8;
    if (static_cast<int64_t>(buffer_.size()) < height * row_bytes) file_.fail();
    for (int64_t top = 0; top < shape_.height; top += height) {
      for (int64_t left = 0; left < shape_.width; left += width) {
        if (TIFFReadTile(file_.get(), buffer_.data(), static_cast<uint32_t>(left), static_cast<uint32_t>(top), 0,
                         static_cast<uint16_t>(plane)) < 0)
          file_.fail();
        const int64_t rows = std::min(height, shape_.height - top), columns = std::min(width, shape_.width - left);
        for (int64_t y = 0; y < rows; ++y) copy(buffer_.data() + y * row_bytes, top + y, left, columns, plane);
      }
    }
  }

  const TiffFile& file_;
  const TiffShape& shape_;
  int64_t channels_;
  at::Tensor image_;
  std::vector<unsigned char> buffer_ = {};
};

/// Makes 0 black, and the greatest value white.
void make_gray(const at::Tensor& image, const TiffShape& shape) {
  const bool is_inverted = shape.photometric == PHOTOMETRIC_MINISWHITE;
  const int most = (1 << shape.bits) - 1;
  const auto change = [&]<class Sample>(Sample* at) {
    for (int64_t i = 0; i < image.numel(); ++i) {
      const int value = is_inverted ? most - at[i] : at[i];
      at[i] = static_cast<Sample>(shape.bits < 8 ? value * 255 / most : value);
    }
  };
  if (shape.bits == 16 && is_inverted) change(image.mutable_data_ptr<uint16_t>());
  if (shape.bits == 8 ? is_inverted : shape.bits < 8) change(image.mutable_data_ptr<uint8_t>());
}

at::Tensor colours_of(const at::Tensor& indices, const TiffFile& file, const TiffShape& shape) {
  uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1) file.fail();
  const at::Tensor image = detail::empty_image(shape.height, shape.width, 3);
  const auto* from = indices.const_data_ptr<uint8_t>();
  auto* to = image.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < indices.numel(); ++i)
    for (const uint16_t* colour : {red, green, blue}) *to++ = static_cast<uint8_t>(colour[from[i]] >> 8);
  return image;
}

/// Returns what libtiff makes of formats such as YCbCr and CMYK, without transparency.
at::Tensor converted(const TiffFile& file, const TiffShape& shape) {
  const at::Tensor raster = detail::empty_image(shape.height, shape.width, 1, at::kInt);
  auto* const pixels = reinterpret_cast<uint32_t*>(raster.mutable_data_ptr<int32_t>());
  const auto orientation = file.tag<uint16_t>(TIFFTAG_ORIENTATION);
  if (TIFFReadRGBAImageOriented(file.get(), static_cast<uint32_t>(shape.width), static_cast<uint32_t>(shape.height),
                                pixels, orientation, /*stop_on_error=*/1) != 1)
    file.fail();
  const at::Tensor image = detail::empty_image(shape.height, shape.width, 3);
  auto* to = image.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < raster.numel(); ++i, to += 3) {
    to[0] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
    to[1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
    to[2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
  }
  return image;
}

}  // namespace

at::Tensor decode_tiff(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  const TiffFile file(bytes, name);
  const TiffShape shape = shape_of(file, options);
  if (!shape.is_plain()) return detail::as_asked(converted(file, shape), options);
  at::Tensor image = TiffSamples(file, shape).read();
  if (options.values == PixelValues::Indices) return detail::as_asked(image, options);
  if (shape.is_gray()) make_gray(image, shape);
  if (shape.has_palette()) image = colours_of(image, file, shape);
  return detail::as_asked(image, options);
}

}  // namespace levin::data
