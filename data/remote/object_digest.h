#pragma once
#include <levin/data/download/digest.h>
#include <levin/data/remote/http_call.h>
#include <levin/data/remote/remote_url.h>

#include <optional>
#include <string>

namespace levin::data {

/// The header with which levin writes the SHA-256 of a whole object of several parts.
inline constexpr const char* kSha256Header = "x-amz-meta-levin-sha256";

/// The digest that a server names for the whole of an object.
struct ObjectDigest {
  Digest::Kind kind = Digest::Kind::Sha256;
  std::string hex = {};  ///< in small letters
};

/// Returns the digest in the headers of an answer: the one that levin wrote, or, of an object written in one part, the
/// MD5 that is its ETag (S3) or in x-goog-hash (Google). Nothing if the server names none.
std::optional<ObjectDigest> digest_of(const RemoteUrl& url, const HttpReply& reply);

/// Returns whether `tag` is the hexadecimal form of an MD5, and the server did not encrypt the object with a key for
/// which the ETag is another value.
bool has_md5_tag(const HttpReply& reply, const std::string& tag);

}  // namespace levin::data
