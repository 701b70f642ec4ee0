#pragma once
#include <levin/data/remote/aws_settings.h>

#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// A request to a bucket's server, as it is signed.
struct AwsRequest {
  std::string method = "GET";
  std::string host = {};                            ///< with the port unless it is the scheme's
  std::string path = {};                            ///< "/bucket/key", percent-encoded
  std::map<std::string, std::string> query = {};    ///< not encoded
  std::map<std::string, std::string> headers = {};  ///< "x-amz-..." in small letters, signed besides the host
  std::string payload_sha256 = {};                  ///< of the body, 64 hexadecimal digits
};

/// Returns the query as it is sent: encoded and sorted, without a question mark.
std::string aws_query(const AwsRequest& request);

/// Returns all headers to send, "Name: value", signed with the keys if there are any.
///
/// levin signs by itself, not by CURLOPT_AWS_SIGV4: that option came with libcurl 7.75, and levin takes 7.68.
/// Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)"
std::vector<std::string> aws_headers(const AwsRequest& request, const AwsSettings& settings, std::time_t now);

}  // namespace levin::data
