#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/hex_digits.h>
#include <levin/data/download/digest.h>
#include <levin/data/download/download.h>
#include <levin/data/download/part_file.h>
#include <levin/data/remote/fetch_object.h>
#include <levin/data/remote/object_digest.h>
#include <levin/data/remote/object_range.h>
#include <levin/data/remote/remote_options.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPieceBytes = int64_t{8} << 20;

void make_folder_of(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) throw UsageError(file.parent_path().string(), ": this folder cannot be made: ", error.message());
}

/// Throws levin::Error, and removes the part, unless it has the digest that the server names.
void verify(const PartFile& part, const RemoteObject& object, const std::optional<ObjectDigest>& expected) {
  if (!expected) return;
  const std::string got = hex_digits(digest_of_file(part.path(), expected->kind));
  if (got == expected->hex) return;
  part.remove();
  throw Error(shown_url(object.url), ": what came is damaged: its ",
              expected->kind == Digest::Kind::Md5 ? "MD5" : "SHA-256", " is ", got, ", and the server names ",
              expected->hex, "; it was removed, try again");
}

/// Appends what is missing of the object. Returns false if the server cannot read parts.
bool append_rest(const RemoteObject& object, PartFile& part, HttpReply& last) {
  const auto piece = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(std::min(kPieceBytes, object.size)));
  while (part.size() < object.size) {
    const int64_t bytes = std::min(kPieceBytes, object.size - part.size());
    if (read_range(object, part.size(), bytes, piece.get(), &last) == RangeResult::ServerHasNoRanges) return false;
    part.append(piece.get(), static_cast<size_t>(bytes));
  }
  return true;
}

/// Fetches the object to a part by its ranges. Returns false if that cannot be done.
bool fetch_by_ranges(const RemoteObject& object, const fs::path& into, bool keeps_part) {
  if (object.size < 0) return false;
  console::info("fetching " + shown_url(object.url) + " to " + into.string());
  PartFile part(into);
  const bool continues = keeps_part && !object.version.empty() && part.size() <= object.size;
  if (!continues) part.clear();
  HttpReply last;
  try {
    if (!append_rest(object, part, last)) {
      part.clear();
      return false;
    }
    char end = 0;  // of a part that was whole: read for the digest in the headers
    if (last.status == 0 && object.size > 0) read_range(object, object.size - 1, 1, &end, &last);
  } catch (...) {
    if (!keeps_part || part.size() == 0) part.remove();
    throw;
  }
  verify(part, object, digest_of(parse_remote_url(object.url), last));
  part.commit();
  return true;
}

}  // namespace

void fetch_object(const RemoteObject& object, const fs::path& into, bool keeps_part) {
  make_folder_of(into);
  if (fetch_by_ranges(object, into, keeps_part)) return;
  std::error_code ignored;
  fs::remove(into, ignored);  // download keeps a file that is there
  download(object.url, into,
           {.size = object.size < 0 ? std::optional<int64_t>() : object.size,
            .timeout_seconds = remote_timeout_seconds(),
            .retries = remote_retries()});
}

}  // namespace levin::data

namespace levin {

void fetch_remote_object(const RemoteObject& object, const std::filesystem::path& into) {
  data::fetch_object(object, into, /*keeps_part=*/false);
}

}  // namespace levin
