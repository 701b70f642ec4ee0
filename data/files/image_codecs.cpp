#include <levin/data/files/image_codecs.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>

namespace levin::data {

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }
bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

namespace detail {

void check_image(const std::string& name, const ImageOptions& options, int64_t height, int64_t width,
                 int64_t most_pixels) {
  if (options.channels != 1 && options.channels != 3) {
    throw UsageError(name, ": an image has 1 or 3 channels, not ", options.channels);
  }
  if (height * width > kMostPixels) {
    throw UsageError(name, ": ", width, " x ", height, " pixels are more than the ", kMostPixels,
                     " that are read; make the image smaller");
  }
  if (height * width > most_pixels) {
    throw UsageError(name, ": the header promises ", width, " x ", height,
                     " pixels, more than a file of its size can hold; get it again");
  }
}

at::Tensor empty_image(int64_t height, int64_t width, int64_t channels) {
  return at::empty({height, width, channels}, at::TensorOptions(at::kByte));
}

at::Tensor luminance(const at::Tensor& rgb) {
  at::Tensor gray = empty_image(rgb.size(0), rgb.size(1), 1);
  const auto* from = rgb.const_data_ptr<uint8_t>();
  auto* to = gray.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < gray.numel(); ++i, from += 3) {
    to[i] = static_cast<uint8_t>((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
  }
  return gray;
}

at::Tensor interleaved(const at::Tensor& image, const char* what, int64_t most_side) {
  const at::Tensor planes = image.defined() && image.dim() == 2 ? image.unsqueeze(0) : image;
  const bool fits = planes.defined() && planes.dim() == 3 && planes.scalar_type() == at::kByte && planes.is_cpu() &&
                    (planes.size(0) == 1 || planes.size(0) == 3) && planes.numel() > 0;
  if (!fits) {
    throw UsageError(what, ": needs uint8 [height, width] or [1 or 3, height, width] on the CPU, got ",
                     image.defined() ? c10::str(image.scalar_type(), " ", image.sizes()) : "nothing");
  }
  if (planes.size(1) > most_side || planes.size(2) > most_side) {
    throw UsageError(what, ": sides have at most ", most_side, " pixels, got ", planes.size(2), " x ", planes.size(1));
  }
  return planes.permute({1, 2, 0}).contiguous();
}

}  // namespace detail
}  // namespace levin::data
