#include <levin/core/system/error.h>
#include <levin/data/remote/glob_match.h>
#include <levin/data/remote/object_range.h>
#include <levin/data/remote/remote_call.h>
#include <levin/data/remote/remote_object.h>

#include <algorithm>
#include <utility>

namespace levin {
namespace {

constexpr size_t kMostObjects = 10'000'000;

/// One page of a listing (ListObjectsV2).
class ListingPage {
 public:
  ListingPage(const data::RemoteUrl& url, std::string xml) : url_(url), xml_(std::move(xml)) {
    is_encoded_ = data::xml_text(xml_, "EncodingType") == "url";
  }

  /// Returns the token of the next page; empty if this is the last.
  std::string next() const {
    return data::xml_text(xml_, "IsTruncated") == "true" ? data::xml_text(xml_, "NextContinuationToken") : "";
  }

  /// Adds the objects of this page whose key fits the pattern.
  void add_to(std::vector<RemoteObject>& objects, const std::string& pattern) const {
    constexpr std::string_view kOpen = "<Contents>", kClose = "</Contents>";
    const std::string_view xml = xml_;
    for (size_t at = xml.find(kOpen); at != xml.npos; at = xml.find(kOpen, at)) {
      const size_t end = xml.find(kClose, at);
      if (end == xml.npos) throw Error(data::shown_url(url_.text), ": the server's listing ends early");
      const std::string_view entry = xml.substr(at, end - at);
      at = end;
      std::string key = data::xml_text(entry, "Key");
      // In a query's form a space is "+".
      if (is_encoded_) {
        std::ranges::replace(key, '+', ' ');
        key = data::percent_decoded(key);
      }
      if (!pattern.empty() && !data::glob_matches(pattern, key)) continue;
      std::string version = data::xml_text(entry, "ETag");
      std::erase(version, '"');
      objects.push_back({.url = url_.text.substr(0, url_.text.find("://")) + "://" + url_.bucket + "/" + key,
                         .size = data::whole_number(data::xml_text(entry, "Size")).value_or(-1),
                         .version = std::move(version),
                         .modified = data::xml_text(entry, "LastModified")});
    }
  }

 private:
  const data::RemoteUrl& url_;
  std::string xml_;
  bool is_encoded_ = false;
};

}  // namespace

std::vector<RemoteObject> list_remote_objects(const std::string& prefix_or_glob, bool ends_on_signal) {
  data::RemoteUrl url = data::parse_remote_url(prefix_or_glob);
  if (!url.is_bucket())
    throw UsageError(
        data::shown_url(prefix_or_glob),
        url.scheme == data::RemoteScheme::File
            ? ": a pattern or folder of this machine is given as its path, without file://"
            : ": a web server has no listing; give each file's URL, or braces such as part-{000..009}.tar");
  const std::string given = std::exchange(url.key, "");
  const size_t fixed = data::glob_begin(given);
  const std::string pattern = fixed < given.size() ? given : "";
  std::map<std::string, std::string> query = {
      {"list-type", "2"}, {"encoding-type", "url"}, {"prefix", given.substr(0, fixed)}};
  std::vector<RemoteObject> objects;
  while (true) {
    data::HttpReply reply = data::call_remote({.url = url, .query = query, .ends_on_signal = ends_on_signal});
    if (!reply.is_good()) data::refuse_reply(url, reply);
    const ListingPage page(url, std::move(reply.body));
    page.add_to(objects, pattern);
    std::string next = page.next();
    if (next.empty()) break;
    if (next == query["continuation-token"] || objects.size() > kMostObjects)
      throw Error(data::shown_url(prefix_or_glob), ": the server's listing does not end");
    query["continuation-token"] = std::move(next);
  }
  std::ranges::sort(objects, {}, &RemoteObject::url);
  return objects;
}

}  // namespace levin
