#include <levin/data/files/image_codecs.h>
#include <levin/data/files/missing_library.h>

namespace levin::data {

at::Tensor decode_tiff(std::string_view /*bytes*/, const std::string& name, const ImageOptions& /*options*/) {
  throw MissingLibrary(
      name,
      ": this levin is built without libtiff (LEVIN_TIFF=OFF) and reads no TIFF files; use PNG, or build "
      "levin with libtiff-dev");
}

}  // namespace levin::data
