#include <levin/data/download/sha256.h>
#include <levin/core/system/hex_digits.h>
#include <levin/data/download/digest.h>

namespace levin::data {

std::string sha256_of(const std::filesystem::path& path) {
  return hex_digits(digest_of_file(path, Digest::Kind::Sha256));
}

std::string sha256_of_bytes(std::string_view bytes) { return hex_digits(Digest::of(bytes, Digest::Kind::Sha256)); }

}  // namespace levin::data
