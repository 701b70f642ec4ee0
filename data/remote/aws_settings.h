#pragma once
#include <levin/data/remote/remote_url.h>

#include <optional>
#include <string>

namespace levin::data {

/// Keys for a server that speaks S3's protocol. They are never shown.
struct AwsKeys {
  std::string id = {}, secret = {};
  std::string token = {};  ///< of a session; empty: none
};

/// How a bucket's server is reached.
struct AwsSettings {
  std::optional<AwsKeys> keys = {};  ///< unset: requests are not signed
  std::string keys_from = {};        ///< where the keys come from, or where they were looked for, for messages
  std::string region = {};
  std::string endpoint = {};  ///< "https://host:port"; empty: Amazon's of the region
};

/// Returns what the environment and the files of the AWS tools say for s3 (the credentials of AWS_ACCESS_KEY_ID,
/// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or of the profile AWS_PROFILE in ~/.aws/credentials or ~/.aws/config;
/// AWS_REGION or AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL), or for gs (GCS_KEY, GCS_SECRET and
/// STORAGE_EMULATOR_HOST). Throws levin::UsageError for half a pair of keys, for a profile that is not there, and for
/// one whose keys only the AWS tools can make.
/// Source: AWS SDKs and Tools Reference Guide, "Standardized credential providers"
AwsSettings aws_settings(RemoteScheme scheme);

}  // namespace levin::data
