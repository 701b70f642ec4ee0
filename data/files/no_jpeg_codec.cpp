#include <levin/data/files/image_codecs.h>
#include <levin/data/files/missing_library.h>

namespace levin::data {
namespace {

[[noreturn]] void fail_without_jpeg(const std::string& what) {
  throw MissingLibrary(
      what,
      ": this levin is built without libjpeg (LEVIN_JPEG=OFF) and has no JPEG files; use PNG, or build "
      "levin with libjpeg-dev");
}

}  // namespace

at::Tensor decode_jpeg(std::string_view /*bytes*/, const std::string& name, const ImageOptions& /*options*/) {
  fail_without_jpeg(name);
}

std::string encode_jpeg(const at::Tensor& /*image*/, int64_t /*quality*/) { fail_without_jpeg("write_jpeg"); }

}  // namespace levin::data
