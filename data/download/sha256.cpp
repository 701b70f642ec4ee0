#include <levin/data/download/sha256.h>
#include <levin/core/system/error.h>
#include <levin/core/system/hex_digits.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace levin::data {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

std::string sha256_of(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw UsageError(path.string(), ": cannot be opened: ", std::strerror(errno));
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  bool good = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::vector<unsigned char> block(1 << 18);
  while (good) {
    const size_t got = std::fread(block.data(), 1, block.size(), file.get());
    if (got == 0) break;
    good = EVP_DigestUpdate(context.get(), block.data(), got);
  }
  if (std::ferror(file.get())) throw UsageError(path.string(), ": cannot be read: ", std::strerror(errno));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned length = 0;
  if (!good || !EVP_DigestFinal_ex(context.get(), digest.data(), &length))
    throw Error(path.string(), ": OpenSSL cannot compute its SHA-256");
  return hex_digits({reinterpret_cast<const char*>(digest.data()), length});
}

std::string sha256_of_bytes(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned length = 0;
  if (!EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr))
    throw Error("OpenSSL cannot compute a SHA-256");
  return hex_digits({reinterpret_cast<const char*>(digest.data()), length});
}

}  // namespace levin::data
