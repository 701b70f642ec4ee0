#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace levin::data {

/// A checksum of bytes that come piece by piece.
class Digest {
 public:
  enum class Kind { Sha256, Md5 };

  /// Throws levin::Error if OpenSSL refuses the kind, as it does MD5 under FIPS.
  explicit Digest(Kind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::string_view bytes);
  /// Returns the digest's bytes, 32 or 16. Nothing may be added afterwards.
  std::string finish();

  /// Returns the bytes of the digest of `bytes`.
  static std::string of(std::string_view bytes, Kind kind);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Returns the 32 bytes of the HMAC-SHA-256 of a text (RFC 2104). Throws levin::Error if OpenSSL refuses it.
std::string hmac_sha256(const std::string& key, const std::string& text);

/// Returns the bytes of the digest of a file. Throws levin::UsageError if the file cannot be read.
std::string digest_of_file(const std::filesystem::path& path, Digest::Kind kind);

}  // namespace levin::data
