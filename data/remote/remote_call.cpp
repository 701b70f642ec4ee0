#include <levin/data/remote/remote_call.h>
#include <levin/core/system/error.h>
#include <levin/data/download/sha256.h>
#include <levin/data/remote/aws_signature.h>
#include <levin/data/remote/retries.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace levin::data {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 7> kEntities = {
    {{"&quot;", '"'}, {"&#34;", '"'}, {"&apos;", '\''}, {"&#39;", '\''}, {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}}};

/// Where a bucket's server is, and the path of the object there.
struct Place {
  std::string scheme = {}, host = {}, path = {};
};

/// Names of buckets with these letters alone may be a part of a host's name.
bool fits_host(const std::string& bucket) {
  return bucket.size() >= 3 && std::ranges::all_of(bucket, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

Place place_of(const RemoteUrl& url, const AwsSettings& settings) {
  const std::string key = percent_encoded(url.key, "/");
  if (settings.endpoint.empty()) {
    const std::string domain =
        "s3." + settings.region + (settings.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
    if (fits_host(url.bucket)) return {"https", url.bucket + "." + domain, "/" + key};
    return {"https", domain, "/" + url.bucket + "/" + key};
  }
  const size_t begin = settings.endpoint.find("://") + 3;
  const size_t slash = std::min(settings.endpoint.find('/', begin), settings.endpoint.size());
  return {settings.endpoint.substr(0, begin - 3), settings.endpoint.substr(begin, slash - begin),
          settings.endpoint.substr(slash) + "/" + url.bucket + "/" + key};
}

HttpCall http_call_of(const RemoteCall& call) {
  HttpCall http{.method = call.method,
                .url = call.url.text,
                .body = call.body,
                .is_web = true,
                .ends_on_signal = call.ends_on_signal,
                .take = call.take};
  if (call.url.is_bucket()) {
    const AwsSettings settings = aws_settings(call.url.scheme);
    const Place place = place_of(call.url, settings);
    const AwsRequest request{.method = call.method,
                             .host = place.host,
                             .path = place.path,
                             .query = call.query,
                             .headers = call.headers,
                             .payload_sha256 = sha256_of_bytes(call.body)};
    const std::string query = aws_query(request);
    http.url = place.scheme + "://" + place.host + place.path + (query.empty() ? "" : "?" + query);
    http.headers = aws_headers(request, settings, std::time(nullptr));
    http.is_web = false;
  }
  for (const auto& [name, value] : call.more_headers) http.headers.push_back(name + ": " + value);
  return http;
}

[[noreturn]] void refuse_bucket(const RemoteUrl& url, const HttpReply& reply) {
  const AwsSettings settings = aws_settings(url.scheme);
  const std::string shown = shown_url(url.text), region = reply.header("x-amz-bucket-region"),
                    code = xml_text(reply.body, "Code");
  const std::string answer = reply.failure() + (code.empty() ? "" : " (" + code + ")");
  if (reply.status == 301 || reply.status == 307 || (!region.empty() && region != settings.region))
    throw UsageError(shown, ": ", answer, ": the bucket is in the region ",
                     region.empty() ? "of another server" : region, ", and ", settings.region,
                     " was asked; set AWS_REGION", region.empty() ? "" : "=" + region);
  if (reply.status == 404 && code == "NoSuchBucket")
    throw UsageError(shown, ": there is no bucket ", url.bucket, settings.endpoint.empty() ? "" : " at ",
                     shown_url(settings.endpoint), " (404)");
  if (reply.status == 404)
    throw UsageError(shown, ": there is no such object (404)",
                     settings.endpoint.empty() ? "" : " at " + shown_url(settings.endpoint));
  if (reply.status == 401 || reply.status == 403 || code == "ExpiredToken" || code == "InvalidToken") {
    const bool is_clock = code == "RequestTimeTooSkewed";
    throw UsageError(shown, ": ", answer, " to ", settings.keys_from,
                     is_clock        ? "; this machine's clock is wrong"
                     : settings.keys ? "; these may lack the permission (s3:GetObject, s3:PutObject, s3:ListBucket)"
                                     : "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE");
  }
  if (reply.status >= 400 && reply.status < 500) {
    const std::string message = xml_text(reply.body, "Message");
    throw UsageError(shown, ": ", answer, message.empty() ? "" : ": ", message.substr(0, 300));
  }
  throw Error(shown, ": ", answer);
}

}  // namespace

HttpReply call_once(const RemoteCall& call) { return call_http(http_call_of(call)); }

HttpReply call_remote(const RemoteCall& call) {
  Retries retries(shown_url(call.url.text), call.ends_on_signal);
  while (true) {
    HttpReply reply = call_once(call);
    if (!reply.is_passing) {
      if (reply.error.empty()) return reply;
      throw Error(shown_url(call.url.text), ": ", reply.error);
    }
    retries.wait_after(reply);
  }
}

void refuse_reply(const RemoteUrl& url, const HttpReply& reply) {
  if (url.is_bucket()) refuse_bucket(url, reply);
  const std::string shown = shown_url(url.text);
  if (reply.status == 404 || reply.status == 410)
    throw UsageError(shown, ": there is no such file (", reply.failure(), ")");
  if (reply.status == 401 || reply.status == 403)
    throw UsageError(shown, ": ", reply.failure(),
                     ": the file needs a password or a signed URL, or the signature is old");
  if (reply.status >= 400 && reply.status < 500) throw UsageError(shown, ": ", reply.failure());
  throw Error(shown, ": ", reply.failure());
}

std::string xml_text(std::string_view xml, const std::string& tag) {
  const std::string open = "<" + tag + ">";
  const size_t begin = xml.find(open);
  const size_t end = begin == std::string_view::npos ? begin : xml.find("</" + tag + ">", begin);
  if (end == std::string_view::npos) return {};
  const std::string_view inside = xml.substr(begin + open.size(), end - begin - open.size());
  std::string text;
  for (size_t i = 0; i < inside.size(); ++i) {
    const auto* const entity = std::ranges::find_if(
        kEntities, [&](const auto& one) { return inside.substr(i, one.first.size()) == one.first; });
    if (entity == kEntities.end()) {
      text += inside[i];
    } else {
      text += entity->second;
      i += entity->first.size() - 1;
    }
  }
  return text;
}

std::string version_of(const HttpReply& reply) {
  std::string tag = reply.header("etag");
  std::erase(tag, '"');
  return tag.empty() ? reply.header("last-modified") : tag;
}

}  // namespace levin::data
