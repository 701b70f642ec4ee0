#include <levin/core/system/error.h>
#include <levin/data/files/image_codecs.h>

#include <csetjmp>
#include <cstring>

#include <png.h>

#include <algorithm>
#include <array>
#include <bit>

namespace levin::data {
namespace {

/// The highest compression ratio of deflate: 258 bytes in 2 bits.
constexpr int64_t kMostCompression = 1032;
constexpr int64_t kMostSide = 0x7fffffff;

struct PngErrors {
  std::jmp_buf jump = {};
  std::array<char, 200> message = {};
};

struct PngDecoder {
  explicit PngDecoder(std::string_view all) : bytes(all) {}
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  std::string_view bytes;
  size_t position = 0;
  bool is_cut_off = false;
  PngErrors errors = {};
  png_structp png = nullptr;
  png_infop info = nullptr;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(png));
  std::strncpy(errors.message.data(), message, errors.message.size() - 1);
  std::longjmp(errors.jump, 1);
}

/// Ignores warnings: they concern data other than pixels, such as colour profiles and texts.
void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void on_read(png_structp png, png_bytep to, size_t count) {
  auto& decoder = *static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (count > decoder.bytes.size() - decoder.position) {
    decoder.is_cut_off = true;
    png_error(png, "the data end too early");
  }
  std::memcpy(to, decoder.bytes.data() + decoder.position, count);
  decoder.position += count;
}

/// Calls `step`, which libpng may leave by longjmp: `step` must hold nothing that needs a destructor. Returns false if
/// libpng left it.
template <class Step>
bool completes(PngErrors& errors, const Step& step) {
  if (setjmp(errors.jump) != 0) return false;
  step();
  return true;
}

[[noreturn]] void throw_broken(const std::string& name, const PngDecoder& decoder) {
  if (decoder.is_cut_off) throw UsageError(name, ": the file is cut off; get it again");
  throw UsageError(name, ": broken PNG data (", decoder.errors.message.data(), "); get the file again");
}

void read_header(PngDecoder& decoder) {
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder.errors, on_error, on_warning);
  if (!decoder.png) return;
  decoder.info = png_create_info_struct(decoder.png);
  if (!decoder.info) return;
  png_set_read_fn(decoder.png, &decoder, on_read);
  png_set_user_limits(decoder.png, kMostSide, kMostSide);
  // Apart from the pixels, only the palette and its transparency are needed; other chunks cost time and may be
  // decompression bombs.
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(decoder.png, decoder.info);
}

/// The samples that rows are read as.
struct PngFormat {
  int64_t channels = 3;
  bool is_wide = false;     ///< samples of 16 bits
  bool is_indices = false;  ///< what a palette or gray of few bits holds
};

PngFormat format_of(const PngDecoder& decoder, const ImageOptions& options) {
  const int type = png_get_color_type(decoder.png, decoder.info);
  const bool has_colour = (type & PNG_COLOR_MASK_COLOR) != 0, has_palette = (type & PNG_COLOR_MASK_PALETTE) != 0;
  const bool is_deep = png_get_bit_depth(decoder.png, decoder.info) == 16;
  if (options.values != PixelValues::Indices)
    return {.channels = has_colour ? 3 : options.channels, .is_wide = is_deep && options.values != PixelValues::Bytes};
  const bool is_indices = has_palette || !has_colour;
  return {.channels = is_indices ? 1 : 3, .is_wide = is_deep && is_indices, .is_indices = is_indices};
}

void choose_format(const PngDecoder& decoder, const PngFormat& format) {
  if (format.is_indices)
    png_set_packing(decoder.png);
  else
    png_set_expand(decoder.png);
  if (!format.is_wide)
    png_set_strip_16(decoder.png);
  else if constexpr (std::endian::native == std::endian::little)
    png_set_swap(decoder.png);
  png_set_strip_alpha(decoder.png);
  if (format.channels == 3) png_set_gray_to_rgb(decoder.png);
}

void read_rows(const PngDecoder& decoder, int passes, png_bytep to, png_uint_32 height, size_t bytes_per_row) {
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 row = 0; row < height; ++row) png_read_row(decoder.png, to + row * bytes_per_row, nullptr);
  }
  png_read_end(decoder.png, nullptr);
}

/// Returns the most pixels that the file can hold.
int64_t most_pixels(const PngDecoder& decoder) {
  const int64_t bits =
      int64_t{png_get_bit_depth(decoder.png, decoder.info)} * png_get_channels(decoder.png, decoder.info);
  return static_cast<int64_t>(decoder.bytes.size()) * kMostCompression * 8 / std::max<int64_t>(bits, 1);
}

struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

}  // namespace

at::Tensor decode_png(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  PngDecoder decoder(bytes);
  const auto run = [&](const auto& step) {
    if (!completes(decoder.errors, step)) throw_broken(name, decoder);
  };
  run([&] { read_header(decoder); });
  if (!decoder.info) throw Error(name, ": libpng cannot begin to read (png.h has version ", PNG_LIBPNG_VER_STRING, ")");
  const png_uint_32 height = png_get_image_height(decoder.png, decoder.info),
                    width = png_get_image_width(decoder.png, decoder.info);
  detail::check_image(name, options, height, width, most_pixels(decoder));
  const PngFormat format = format_of(decoder, options);
  int passes = 1;
  run([&] {
    choose_format(decoder, format);
    passes = png_set_interlace_handling(decoder.png);
    png_read_update_info(decoder.png, decoder.info);
  });
  const at::Tensor image =
      detail::empty_image(height, width, format.channels, format.is_wide ? at::kUInt16 : at::kByte);
  auto* const to = static_cast<png_bytep>(image.mutable_data_ptr());
  const size_t bytes_per_row = image.nbytes() / height;
  if (png_get_rowbytes(decoder.png, decoder.info) != bytes_per_row) throw Error(name, ": libpng gives other rows");
  run([&] { read_rows(decoder, passes, to, height, bytes_per_row); });
  return detail::as_asked(image, options);
}

std::string encode_png(const at::Tensor& image) {
  const at::Tensor pixels = detail::interleaved(image, "write_png", 1'000'000);
  PngImage png;
  png.height = static_cast<png_uint_32>(pixels.size(0));
  png.width = static_cast<png_uint_32>(pixels.size(1));
  png.format = pixels.size(2) == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const auto stride = static_cast<png_int_32>(pixels.size(1) * pixels.size(2));
  const void* const from = pixels.const_data_ptr();
  size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&png, bytes.data(), &size, 0, from, stride, nullptr)) {
    throw Error("write_png: ", png.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace levin::data
