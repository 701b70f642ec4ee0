#include <levin/data/files/decompress.h>
#include <levin/data/files/missing_library.h>

namespace levin::data {

std::string decompress(const FileBytes& file) {
  throw MissingLibrary(
      file.name,
      ": this levin is built without libarchive (LEVIN_ARCHIVE=OFF) and reads no compressed files; unpack "
      "the file, or build levin with libarchive-dev");
}

}  // namespace levin::data
