#pragma once
#include <levin/data/download/shown_url.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data {

enum class RemoteScheme { Http, S3, Gs, File };

/// A URL that is_remote takes, in its parts.
struct RemoteUrl {
  RemoteScheme scheme = RemoteScheme::Http;
  std::string text = {};    ///< the whole, as it was given
  std::string bucket = {};  ///< of s3 and gs
  std::string key = {};     ///< of s3 and gs: the object's name, as it is (no %XX); of file: the path

  /// Returns whether the server speaks S3's protocol.
  bool is_bucket() const { return scheme == RemoteScheme::S3 || scheme == RemoteScheme::Gs; }
};

/// Takes a URL apart. Throws levin::UsageError for one without a bucket or host, and for one with credentials, which a
/// config and a checkpoint would hold: these are taken from the environment and the usual files.
RemoteUrl parse_remote_url(const std::string& url);

/// Returns a URL without the parts of its query that a signature consists of, which are others each time. Two URLs with
/// the same result name the same file.
std::string without_signature(const std::string& url);

/// Returns `text` with each byte as %XX that is not a letter, a digit, one of "-._~" or one of `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept = "");
/// The reverse. A `%` without two hexadecimal digits stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace levin::data
