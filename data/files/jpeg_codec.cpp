#include <levin/core/system/error.h>
#include <levin/data/files/image_codecs.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>

#include <algorithm>
#include <array>

namespace levin::data {
namespace {

/// A byte codes at most eight blocks of 8 x 8 pixels; twice as many with unusual subsampling.
constexpr int64_t kMostPixelsPerByte = 1024;
/// More passes over one image than any encoder writes; each pass costs time.
constexpr int kMostScans = 500;

struct Errors : jpeg_error_mgr {
  std::jmp_buf jump = {};
  std::array<char, JMSG_LENGTH_MAX> message = {};
};

[[noreturn]] void leave(j_common_ptr info) {
  auto& errors = *static_cast<Errors*>(info->err);
  errors.format_message(info, errors.message.data());
  std::longjmp(errors.jump, 1);
}

/// libjpeg continues after a warning with invented pixels; here, broken data is an error.
void on_message(j_common_ptr info, int level) {
  const bool is_harmless = info->err->msg_code == JWRN_JFIF_MAJOR || info->err->msg_code == JWRN_ADOBE_XFORM;
  if (level < 0 && !is_harmless) leave(info);
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  info->err->msg_code = JERR_BAD_PROGRESSION;
  leave(info);
}

jpeg_error_mgr* set_up(Errors& errors) {
  jpeg_std_error(&errors);
  errors.error_exit = leave;
  errors.emit_message = on_message;
  return &errors;
}

/// Calls `step`, which libjpeg may leave by longjmp: `step` must hold nothing that needs a destructor. Returns false if
/// libjpeg left it.
template <class Step>
bool completes(Errors& errors, const Step& step) {
  if (setjmp(errors.jump) != 0) return false;
  step();
  return true;
}

struct Decoder {
  Decoder() { info.err = set_up(errors); }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Errors errors = {};
  jpeg_decompress_struct info = {};
  jpeg_progress_mgr progress = {};
};

struct Encoder {
  Encoder() { info.err = set_up(errors); }
  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  Errors errors = {};
  jpeg_compress_struct info = {};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // the type that jpeglib.h uses
};

[[noreturn]] void throw_broken(const std::string& name, const Errors& errors) {
  if (errors.msg_code == JWRN_JPEG_EOF) throw UsageError(name, ": the file is cut off; get it again");
  throw UsageError(name, ": broken JPEG data (", errors.message.data(), "); get the file again");
}

bool has_inks(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

void read_header(Decoder& decoder, std::string_view bytes) {
  jpeg_decompress_struct& info = decoder.info;
  jpeg_create_decompress(&info);
  info.progress = &decoder.progress;
  decoder.progress.progress_monitor = on_progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&info, TRUE);
}

/// Sets the scale to a fraction for which libjpeg-turbo has a vectorised transform.
void choose_scale(jpeg_decompress_struct& info, const ImageOptions& options) {
  const bool may_scale = options.min_height > 0 && options.min_width > 0;
  info.scale_denom = 8;
  for (info.scale_num = may_scale ? 1 : 8; info.scale_num <= 8; info.scale_num *= 2) {
    jpeg_calc_output_dimensions(&info);
    const bool is_enough = info.output_height >= options.min_height && info.output_width >= options.min_width;
    if (is_enough || info.scale_num == 8) return;
  }
}

void read_rows(jpeg_decompress_struct& info, unsigned char* to, size_t bytes_per_row) {
  constexpr JDIMENSION kRowsPerCall = 16;
  JSAMPROW rows[kRowsPerCall];
  while (info.output_scanline < info.output_height) {
    const JDIMENSION count = std::min(kRowsPerCall, info.output_height - info.output_scanline);
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = to + (info.output_scanline + i) * bytes_per_row;
    jpeg_read_scanlines(&info, rows, count);
  }
  jpeg_finish_decompress(&info);  // checks the end marker, which a truncated file lacks
}

/// Converts inverted CMYK to RGB.
at::Tensor rgb_of_inks(const at::Tensor& inks) {
  at::Tensor rgb = detail::empty_image(inks.size(0), inks.size(1), 3);
  const auto* from = inks.const_data_ptr<uint8_t>();
  auto* to = rgb.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < rgb.numel(); i += 3, from += 4) {
    for (int64_t c = 0; c < 3; ++c) to[i + c] = static_cast<uint8_t>((from[c] * from[3] + 127) / 255);
  }
  return rgb;
}

}  // namespace

at::Tensor decode_jpeg(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  Decoder decoder;
  jpeg_decompress_struct& info = decoder.info;
  const auto run = [&](const auto& step) {
    if (!completes(decoder.errors, step)) throw_broken(name, decoder.errors);
  };
  run([&] { read_header(decoder, bytes); });
  if (options.values == PixelValues::Indices)
    throw UsageError(name, ": JPEG changes pixels a little, so that they are no numbers of classes; save masks as PNG");
  // Arithmetic coding has no minimum number of bits.
  const int64_t most = info.arith_code ? kMostPixels : static_cast<int64_t>(bytes.size()) * kMostPixelsPerByte;
  detail::check_image(name, options, info.image_height, info.image_width, most);
  const bool inks = has_inks(info);
  info.out_color_space = inks ? JCS_CMYK : options.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  run([&] {
    choose_scale(info, options);
    jpeg_start_decompress(&info);
  });
  at::Tensor image = detail::empty_image(info.output_height, info.output_width, info.output_components);
  auto* const to = image.mutable_data_ptr<uint8_t>();
  run([&] { read_rows(info, to, static_cast<size_t>(info.output_width) * info.output_components); });
  return detail::as_asked(inks ? rgb_of_inks(image) : image, options);
}

std::string encode_jpeg(const at::Tensor& image, int64_t quality) {
  const at::Tensor pixels = detail::interleaved(image, "write_jpeg", JPEG_MAX_DIMENSION);
  if (quality < 1 || quality > 100) throw UsageError("write_jpeg: quality is 1 to 100, got ", quality);
  const auto channels = static_cast<int>(pixels.size(2));
  const auto bytes_per_row = static_cast<size_t>(pixels.size(1) * pixels.size(2));
  const auto* const from = pixels.const_data_ptr<uint8_t>();
  Encoder encoder;
  jpeg_compress_struct& info = encoder.info;
  const bool completed = completes(encoder.errors, [&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &encoder.bytes, &encoder.size);
    info.image_height = static_cast<JDIMENSION>(pixels.size(0));
    info.image_width = static_cast<JDIMENSION>(pixels.size(1));
    info.input_components = channels;
    info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, static_cast<int>(quality), TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<unsigned char*>(from + info.next_scanline * bytes_per_row);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  if (!completed) throw Error("write_jpeg: ", encoder.errors.message.data());
  return {reinterpret_cast<const char*>(encoder.bytes), encoder.size};
}

}  // namespace levin::data
