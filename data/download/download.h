#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin::data {

/// What is known of a file, and how long to try.
struct DownloadOptions {
  /// 64 hexadecimal digits; empty: not checked.
  std::string sha256 = {};
  /// Bytes; unset: not checked.
  std::optional<int64_t> size = {};
  /// The longest wait for a connection, and for the next byte.
  double timeout_seconds = 30;
  /// Tries after one that brought no new byte.
  int64_t retries = 4;
  /// The pause before the first of them; it doubles with each.
  double retry_seconds = 1;
};

/// Makes sure that the file `path` is there: one that fits the checksum and the size is left, otherwise it is fetched
/// from `url` (http, https, file, ftp).
///
/// It grows in `path.part`, which a later call goes on with where the checksum is known, and takes its place when it is
/// whole and fits. Several threads and processes may ask for one file at once. A cut connection is taken up again.
/// Throws levin::Error: no network, what the server answers, another size or checksum (the part is then removed), a
/// signal; levin::UsageError where the folder cannot be written.
void download(const std::string& url, const std::filesystem::path& path, const DownloadOptions& options = {});

}  // namespace levin::data
