#include <levin/data/remote/aws_signature.h>
#include <levin/core/system/hex_digits.h>
#include <levin/data/download/digest.h>
#include <levin/data/download/sha256.h>
#include <levin/data/remote/remote_url.h>

#include <array>

namespace levin::data {
namespace {

std::string utc(std::time_t now, const char* format) {
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text = {};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string aws_query(const AwsRequest& request) {
  std::map<std::string, std::string> encoded;
  for (const auto& [name, value] : request.query) encoded[percent_encoded(name)] = percent_encoded(value);
  std::string query;
  for (const auto& [name, value] : encoded) query += (query.empty() ? "" : "&") + name + "=" + value;
  return query;
}

std::vector<std::string> aws_headers(const AwsRequest& request, const AwsSettings& settings, std::time_t now) {
  std::map<std::string, std::string> headers = request.headers;
  headers["host"] = request.host;
  std::string authorization;
  if (settings.keys) {
    const std::string day = utc(now, "%Y%m%d"), time = utc(now, "%Y%m%dT%H%M%SZ");
    headers["x-amz-content-sha256"] = request.payload_sha256;
    headers["x-amz-date"] = time;
    if (!settings.keys->token.empty()) headers["x-amz-security-token"] = settings.keys->token;
    std::string lines, names;
    for (const auto& [name, value] : headers) {
      lines += name + ":" + value + "\n";
      names += (names.empty() ? "" : ";") + name;
    }
    const std::string canonical = request.method + "\n" + request.path + "\n" + aws_query(request) + "\n" + lines +
                                  "\n" + names + "\n" + request.payload_sha256;
    const std::string scope = day + "/" + settings.region + "/s3/aws4_request";
    const std::string to_sign = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256_of_bytes(canonical);
    std::string key = "AWS4" + settings.keys->secret;
    for (const std::string& part : {day, settings.region, std::string("s3"), std::string("aws4_request")})
      key = hmac_sha256(key, part);
    authorization = "AWS4-HMAC-SHA256 Credential=" + settings.keys->id + "/" + scope + ",SignedHeaders=" + names +
                    ",Signature=" + hex_digits(hmac_sha256(key, to_sign));
  }
  std::vector<std::string> lines;
  for (const auto& [name, value] : headers) lines.push_back(name + ": " + value);
  if (!authorization.empty()) lines.push_back("Authorization: " + authorization);
  return lines;
}

}  // namespace levin::data
