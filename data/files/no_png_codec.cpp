#include <levin/data/files/image_codecs.h>
#include <levin/data/files/missing_library.h>

namespace levin::data {
namespace {

[[noreturn]] void fail_without_png(const std::string& what) {
  throw MissingLibrary(what,
                       ": this levin is built without libpng (LEVIN_PNG=OFF) and has no PNG files; use JPEG, or build "
                       "levin with libpng-dev");
}

}  // namespace

at::Tensor decode_png(std::string_view /*bytes*/, const std::string& name, const ImageOptions& /*options*/) {
  fail_without_png(name);
}

std::string encode_png(const at::Tensor& /*image*/) { fail_without_png("write_png"); }

}  // namespace levin::data
