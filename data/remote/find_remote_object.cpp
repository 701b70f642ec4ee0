#include <levin/core/system/error.h>
#include <levin/data/remote/object_range.h>
#include <levin/data/remote/remote_call.h>
#include <levin/data/remote/remote_object.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace levin {
namespace {

RemoteObject find_local(const data::RemoteUrl& url) {
  struct stat about = {};
  if (::stat(url.key.c_str(), &about) != 0) throw UsageError(url.text, ": ", std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw UsageError(url.text, ": a plain file was expected");
  return {.url = url.text,
          .size = about.st_size,
          .version = c10::str(about.st_mtim.tv_sec, ".", about.st_mtim.tv_nsec, "-", about.st_size)};
}

}  // namespace

RemoteObject find_remote_object(const std::string& url) {
  const data::RemoteUrl parts = data::parse_remote_url(url);
  if (parts.scheme == data::RemoteScheme::File) return find_local(parts);
  if (parts.is_bucket() && parts.key.empty())
    throw UsageError(url, ": this names a bucket; the name of an object was expected after it");
  RemoteObject object{.url = url};
  const data::HttpReply head = data::call_remote({.method = "HEAD", .url = parts});
  if (head.is_good()) {
    object.size = data::whole_number(head.header("content-length")).value_or(-1);
    object.version = data::version_of(head);
    if (object.size >= 0) return object;
  } else if (head.status == 404) {
    data::refuse_reply(parts, head);
  }
  // The answer to HEAD has no text that says why, and a signed URL may permit GET alone.
  const data::HttpReply first = data::call_remote(
      {.url = parts, .more_headers = {{"Range", "bytes=0-0"}}, .take = [](const auto& so_far, auto /*bytes*/) {
         return so_far.status == 206;  // the whole would come otherwise
       }});
  if (first.status == 416) {  // there is no first byte
    object.size = 0;
  } else if (!first.is_good()) {
    data::refuse_reply(parts, first);
  } else {
    object.size = data::range_of(first).all;
  }
  object.version = data::version_of(first);
  return object;
}

}  // namespace levin
