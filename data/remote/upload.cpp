#include <levin/data/remote/upload.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/hex_digits.h>
#include <levin/data/download/digest.h>
#include <levin/data/download/sha256.h>
#include <levin/data/remote/object_digest.h>
#include <levin/data/remote/object_range.h>
#include <levin/data/remote/remote_call.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPartBytes = int64_t{16} << 20;
constexpr int64_t kMostParts = 10'000;  // of S3

/// A local file that is read part by part.
class PartReader {
 public:
  explicit PartReader(const fs::path& path) : path_(path), descriptor_(open_file(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw UsageError(path.string(), ": cannot be opened: ", std::strerror(errno));
    size_ = static_cast<int64_t>(fs::file_size(path));
  }
  ~PartReader() { ::close(descriptor_); }
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;

  int64_t size() const { return size_; }

  std::string read(int64_t offset, int64_t bytes) const {
    std::string part(static_cast<size_t>(bytes), '\0');
    for (int64_t done = 0; done < bytes;) {
      const ssize_t got = ::pread(descriptor_, part.data() + done, static_cast<size_t>(bytes - done), offset + done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        throw Error(path_.string(), ": cannot be read: ", got == 0 ? "it has become shorter" : std::strerror(errno));
      done += got;
    }
    return part;
  }

 private:
  fs::path path_;
  int descriptor_;
  int64_t size_ = 0;
};

/// The upload of one file.
class Upload {
 public:
  Upload(const fs::path& file, data::RemoteUrl url) : path_(file), file_(file), url_(std::move(url)) {}

  void run() {
    if (file_.size() <= kPartBytes)
      put_whole();
    else
      put_parts();
    check_size();
  }

 private:
  [[noreturn]] void throw_damaged(const std::string& what) const {
    throw Error(url_.text, ": the upload of ", path_.string(), " is damaged: ", what, "; try again");
  }

  data::HttpReply call(std::string method, std::map<std::string, std::string> query, std::string_view body = {},
                       std::map<std::string, std::string> headers = {}) const {
    return data::call_remote({.method = std::move(method),
                              .url = url_,
                              .query = std::move(query),
                              .headers = std::move(headers),
                              .body = body,
                              .ends_on_signal = false});
  }

  data::HttpReply good(data::HttpReply reply) const {
    if (!reply.is_good()) data::refuse_reply(url_, reply);
    return reply;
  }

  void put_whole() const {
    const std::string bytes = file_.read(0, file_.size());
    const data::HttpReply reply = good(call("PUT", {}, bytes, {{data::kSha256Header, data::sha256_of_bytes(bytes)}}));
    check_tag(reply, data::version_of(reply), data::Digest::of(bytes, data::Digest::Kind::Md5), "");
  }

  /// Compares an ETag that is an MD5 with what was sent.
  void check_tag(const data::HttpReply& reply, const std::string& tag, const std::string& md5,
                 const std::string& ending) const {
    const bool may_compare = tag.ends_with(ending) && !url_.bucket.ends_with("--x-s3") &&
                             data::has_md5_tag(reply, tag.substr(0, tag.size() - ending.size()));
    if (may_compare && tag != hex_digits(md5) + ending)
      throw_damaged("the server names the ETag " + tag + ", and " + hex_digits(md5) + ending + " was sent");
  }

  void put_parts() {
    const std::string sha256 = data::sha256_of(path_);
    const data::HttpReply begun = good(call("POST", {{"uploads", ""}}, {}, {{data::kSha256Header, sha256}}));
    id_ = data::xml_text(begun.body, "UploadId");
    if (id_.empty()) throw Error(url_.text, ": the server names no UploadId");
    try {
      send_parts();
      complete(begun);
    } catch (...) {
      abort();
      throw;
    }
  }

  void send_parts() {
    constexpr int64_t kMegabyte = int64_t{1} << 20;
    const int64_t least = (file_.size() + kMostParts - 1) / kMostParts;
    const int64_t part_bytes = std::max(kPartBytes, (least + kMegabyte - 1) / kMegabyte * kMegabyte);
    for (int64_t offset = 0; offset < file_.size(); offset += part_bytes) {
      const std::string bytes = file_.read(offset, std::min(part_bytes, file_.size() - offset));
      const std::string number = std::to_string(++parts_);
      const data::HttpReply reply = good(call("PUT", {{"partNumber", number}, {"uploadId", id_}}, bytes));
      const std::string md5 = data::Digest::of(bytes, data::Digest::Kind::Md5);
      check_tag(reply, data::version_of(reply), md5, "");
      md5s_ += md5;
      list_ += "<Part><PartNumber>" + number + "</PartNumber><ETag>" + reply.header("etag") + "</ETag></Part>";
    }
  }

  void complete(const data::HttpReply& begun) const {
    const std::string list = "<CompleteMultipartUpload>" + list_ + "</CompleteMultipartUpload>";
    const data::HttpReply reply = call("POST", {{"uploadId", id_}}, list);
    // After a repetition whose first answer was lost there is no such upload any more, which check_size settles.
    if (reply.status == 404) return;
    good(reply);
    // The server may find that it fails after it has begun its answer.
    if (const std::string code = data::xml_text(reply.body, "Code"); reply.body.find("<Error>") != std::string::npos)
      throw Error(url_.text, ": the server could not complete the upload: ", code);
    std::string tag = data::xml_text(reply.body, "ETag");
    std::erase(tag, '"');
    check_tag(begun, tag, data::Digest::of(md5s_, data::Digest::Kind::Md5), "-" + std::to_string(parts_));
  }

  /// Parts that stay would be paid for.
  void abort() const {
    try {
      call("DELETE", {{"uploadId", id_}});
    } catch (const std::exception&) {
      // The error that ends the upload is the one to tell.
    }
  }

  void check_size() const {
    const data::HttpReply head = good(call("HEAD", {}));
    const auto size = data::whole_number(head.header("content-length"));
    const auto digest = data::digest_of(url_, head);
    if (size != file_.size())
      throw_damaged("the server has " + std::to_string(size.value_or(-1)) + " bytes of " +
                    std::to_string(file_.size()));
    if (digest && digest->kind == data::Digest::Kind::Sha256 && digest->hex != data::sha256_of(path_))
      throw_damaged("the server has another object");
  }

  const fs::path path_;
  const PartReader file_;
  const data::RemoteUrl url_;
  std::string id_ = {};    // of the upload in parts
  std::string md5s_ = {};  // of the parts, one after another
  std::string list_ = {};  // of the parts, in XML
  int64_t parts_ = 0;
};

data::RemoteUrl writable_url(const std::string& url) {
  data::RemoteUrl parts = data::parse_remote_url(url);
  if (!parts.is_bucket())
    throw UsageError(data::shown_url(url), ": files are written to a folder of this machine, s3:// or gs://");
  if (parts.key.empty() || parts.key.ends_with('/'))
    throw UsageError(url, ": the name of an object was expected after the bucket");
  return parts;
}

}  // namespace

void upload_file(const fs::path& file, const std::string& url) { Upload(file, writable_url(url)).run(); }

void check_can_upload(const std::string& option, const std::string& folder) try {
  const data::RemoteUrl url = writable_url(folder + (folder.ends_with('/') ? "" : "/") + ".levin");
  // An upload in parts that is not completed leaves no object.
  const data::HttpReply begun = data::call_remote({.method = "POST", .url = url, .query = {{"uploads", ""}}});
  if (!begun.is_good()) data::refuse_reply(url, begun);
  data::call_remote({.method = "DELETE", .url = url, .query = {{"uploadId", data::xml_text(begun.body, "UploadId")}}});
} catch (const UsageError& error) {
  throw UsageError(option, ": ", error.what());
}

bool is_in_bucket(const std::string& url) {
  const data::RemoteUrl parts = writable_url(url);
  const data::HttpReply reply = data::call_remote({.method = "HEAD", .url = parts, .ends_on_signal = false});
  if (!reply.is_good() && reply.status != 404 && reply.status != 403) data::refuse_reply(parts, reply);
  return reply.is_good();
}

void remove_remote_object(const std::string& url) {
  const data::RemoteUrl parts = writable_url(url);
  const data::HttpReply reply = data::call_remote({.method = "DELETE", .url = parts, .ends_on_signal = false});
  if (!reply.is_good() && reply.status != 404) data::refuse_reply(parts, reply);
}

}  // namespace levin
