#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// Returns whether `path` begins with a scheme that this room reads: http, https, s3, gs or file, in any case.
bool is_remote(std::string_view path);

/// A file on a server, as the server described it.
struct RemoteObject {
  std::string url = {};
  int64_t size = -1;         ///< bytes; -1 if the server does not tell
  std::string version = {};  ///< ETag or Last-Modified; empty if the server names none
  /// When it was written, "2026-01-31T12:00:00.000Z"; of a listing only.
  std::string modified = {};
};

/// Asks the server for the size and version of `url`: one request, which is repeated after a passing failure. Errors
/// name the URL without credentials. Throws levin::UsageError if there is no such file, or no permission to read it,
/// levin::Error if the server cannot be reached or fails.
RemoteObject find_remote_object(const std::string& url);

/// Returns the objects of a bucket whose URL begins with `prefix_or_glob` or, if it has one of `*?[`, matches it (`*`
/// does not cross a slash, `**` does), sorted by key (bytes), all pages of the listing. Throws levin::UsageError for
/// http, https and file, which have no listing; else as find_remote_object.
/// `ends_on_signal`: a signal to this process ends it with an error.
std::vector<RemoteObject> list_remote_objects(const std::string& prefix_or_glob, bool ends_on_signal = true);

/// Reads the bytes `[offset, offset + size)` of the object into `into`, with retries that continue after the last byte
/// that came. Throws levin::Error if the object is no longer of that version or the server cannot read parts, else as
/// find_remote_object. Several threads may call it at once; each keeps its connections open.
void read_remote_object(const RemoteObject& object, int64_t offset, int64_t size, char* into);

/// Fetches the whole object to `into.part`, which is renamed to `into` after its size, and its digest if the server
/// names one, are verified. Makes the folder. Throws as read_remote_object, and levin::Error for another size or
/// digest; nothing is left then.
void fetch_remote_object(const RemoteObject& object, const std::filesystem::path& into);

}  // namespace levin
