#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin::data {

/// The expected properties of a file, and how long to try.
struct DownloadOptions {
  /// 64 hexadecimal digits; empty: not checked.
  std::string sha256 = {};
  /// Bytes; unset: not checked.
  std::optional<int64_t> size = {};
  /// Timeout of a connection, and of the wait for the next byte.
  double timeout_seconds = 30;
  /// The number of consecutive retries that may bring no new byte.
  int64_t retries = 4;
  /// The pause before the first retry; it doubles with each retry.
  double retry_seconds = 1;
};

/// Makes sure that the file `path` exists: a file that matches the checksum and the size is kept, otherwise it is
/// fetched from `url` (http, https, file, ftp).
///
/// The download is written to `path.part`, which is renamed to `path` once it is complete and matches. A later call
/// resumes the part if the checksum is known. Several threads and processes may request the same file at once. A lost
/// connection is resumed. Throws levin::Error without a network, for an error of the server, another size or checksum
/// (the part is then removed), and a signal; levin::UsageError if the folder cannot be written.
void download(const std::string& url, const std::filesystem::path& path, const DownloadOptions& options = {});

}  // namespace levin::data
