#include <levin/data/remote/object_digest.h>
#include <levin/core/system/hex_digits.h>
#include <levin/data/remote/remote_call.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace levin::data {
namespace {

bool is_hex(std::string_view text, size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Returns the bytes of the MD5 in "crc32c=AAAA==,md5=BBBB==", in hexadecimal form; empty if there is none.
std::string md5_of_google(const std::string& header) {
  constexpr std::string_view kName = "md5=";
  constexpr size_t kLetters = 24;  // of 16 bytes in base64
  const size_t at = header.find(kName);
  if (at == std::string::npos || header.size() < at + kName.size() + kLetters) return {};
  std::array<unsigned char, kLetters> bytes = {};
  const auto* const letters = reinterpret_cast<const unsigned char*>(header.data() + at + kName.size());
  if (EVP_DecodeBlock(bytes.data(), letters, static_cast<int>(kLetters)) != 18) return {};
  return hex_digits({reinterpret_cast<const char*>(bytes.data()), 16});
}

}  // namespace

bool has_md5_tag(const HttpReply& reply, const std::string& tag) {
  return is_hex(tag, 32) && !reply.header("x-amz-server-side-encryption").starts_with("aws:kms") &&
         reply.header("x-amz-server-side-encryption-customer-algorithm").empty();
}

std::optional<ObjectDigest> digest_of(const RemoteUrl& url, const HttpReply& reply) {
  if (!url.is_bucket()) return {};
  for (const char* const name : {kSha256Header, "x-goog-meta-levin-sha256"})
    if (const std::string hex = reply.header(name); is_hex(hex, 64)) return ObjectDigest{Digest::Kind::Sha256, hex};
  if (const std::string hex = md5_of_google(reply.header("x-goog-hash")); !hex.empty())
    return ObjectDigest{Digest::Kind::Md5, hex};
  const std::string tag = version_of(reply);
  // The ETags of directory buckets (S3 Express) are no digests.
  if (url.scheme == RemoteScheme::S3 && has_md5_tag(reply, tag) && !url.bucket.ends_with("--x-s3"))
    return ObjectDigest{Digest::Kind::Md5, tag};
  return {};
}

}  // namespace levin::data
