#include <levin/core/system/error.h>
#include <levin/data/files/decompress.h>

namespace levin::data {

std::string decompress(const FileBytes& file) {
  throw UsageError(file.name,
                   ": this levin is built without libarchive (LEVIN_ARCHIVE=OFF) and reads no compressed files; unpack "
                   "the file, or build levin with libarchive-dev");
}

}  // namespace levin::data
