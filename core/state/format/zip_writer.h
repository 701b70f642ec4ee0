#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace levin {

/// Writes a zip archive of uncompressed records in the byte layout of LibTorch's PyTorchStreamWriter, which Python's
/// `torch.load(mmap=True)` relies on: contents start at multiples of 64 bytes, after an extra field of padding; sizes
/// and checksum follow the contents; numbers above 32 bits use zip64.
class ZipWriter {
 public:
  /// Receives the archive's bytes in order.
  using Sink = std::function<void(const void* data, size_t bytes)>;

  /// All records lie in `folder`; in none if it is empty.
  ZipWriter(std::string folder, Sink sink) : folder_(std::move(folder)), sink_(std::move(sink)) {}

  /// Writes the record `folder/name`; its checksum is computed by all of LibTorch's threads.
  void add(const std::string& name, std::string_view contents);
  /// Returns a hash of the names and checksums of all records so far, as 40 digits.
  std::string fingerprint() const;
  /// Writes the directory.
  void finish();

 private:
  struct Record {
    uint64_t header, bytes;
    uint32_t crc;
  };

  void write(std::string_view bytes);
  std::string local_header(const std::string& name, uint64_t bytes) const;
  void list(const std::string& name, const Record& record);

  std::string folder_;
  Sink sink_;
  uint64_t position_ = 0, records_ = 0;
  uint64_t names_ = 0xcbf29ce484222325, checksums_ = 0xcbf29ce484222325;  // FNV-1a's initial value
  std::string directory_ = {};
};

}  // namespace levin
