#include <levin/data/download/digest.h>
#include <levin/core/system/error.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace levin::data {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

void check_digest(bool is_good) {
  if (!is_good) throw Error("OpenSSL cannot compute this checksum");
}

}  // namespace

struct Digest::Context {
  ~Context() { EVP_MD_CTX_free(state); }
  EVP_MD_CTX* state = EVP_MD_CTX_new();
};

Digest::Digest(Kind kind) : context_(std::make_unique<Context>()) {
  const EVP_MD* const type = kind == Kind::Md5 ? EVP_md5() : EVP_sha256();
  check_digest(context_->state != nullptr && EVP_DigestInit_ex(context_->state, type, nullptr) == 1);
}

Digest::~Digest() = default;

void Digest::add(std::string_view bytes) {
  check_digest(EVP_DigestUpdate(context_->state, bytes.data(), bytes.size()) == 1);
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned length = 0;
  check_digest(EVP_DigestFinal_ex(context_->state, digest.data(), &length) == 1);
  return {reinterpret_cast<const char*>(digest.data()), length};
}

std::string Digest::of(std::string_view bytes, Kind kind) {
  Digest digest(kind);
  digest.add(bytes);
  return digest.finish();
}

std::string hmac_sha256(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> code = {};
  unsigned length = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), code.data(), &length) == nullptr)
    throw Error("OpenSSL cannot compute an HMAC");
  return {reinterpret_cast<const char*>(code.data()), length};
}

std::string digest_of_file(const std::filesystem::path& path, Digest::Kind kind) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw UsageError(path.string(), ": cannot be opened: ", std::strerror(errno));
  Digest digest(kind);
  std::string block(size_t{1} << 18, '\0');
  while (const size_t got = std::fread(block.data(), 1, block.size(), file.get())) digest.add({block.data(), got});
  if (std::ferror(file.get())) throw UsageError(path.string(), ": cannot be read: ", std::strerror(errno));
  return digest.finish();
}

}  // namespace levin::data
