#include <levin/data/files/image_codecs.h>
#include <levin/data/files/missing_library.h>

namespace levin::data {

at::Tensor decode_webp(std::string_view /*bytes*/, const std::string& name, const ImageOptions& /*options*/) {
  throw MissingLibrary(
      name,
      ": this levin is built without libwebp (LEVIN_WEBP=OFF) and reads no WebP files; use PNG, or build "
      "levin with libwebp-dev");
}

}  // namespace levin::data
