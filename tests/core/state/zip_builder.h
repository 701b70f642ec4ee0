#pragma once
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/zip_format.h>
#include <zlib.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// Returns deflated bytes, without any header.
inline std::string deflated(const std::string& bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}

/// A record; the optional fields replace the true values in its headers.
struct BuiltRecord {
  std::string name = {};
  std::string contents = {};
  bool is_deflated = false;
  std::string local_extra = {};
  std::optional<std::string> local_name = {};
  std::optional<uint16_t> flags = {}, method = {}, local_method = {};
  std::optional<uint64_t> header = {}, bytes = {}, stored_bytes = {};
  std::optional<uint32_t> crc = {}, local_crc = {};
  std::string extra = {};
};

/// Builds zip archives as other programs write them: sizes in the headers, no alignment, no zip64.
struct ZipBuilder {
  std::vector<BuiltRecord> records = {};
  std::optional<uint64_t> count = {}, directory_bytes = {}, directory_begin = {};
  std::string comment = {}, behind = {};

  std::string build() const {
    namespace zip = levin::zip;
    std::string file, directory;
    for (const BuiltRecord& record : records) {
      const std::string stored = record.is_deflated ? deflated(record.contents) : record.contents;
      const auto method = record.method.value_or(record.is_deflated ? zip::kDeflated : zip::kStored);
      const uint32_t crc = levin::crc32_of(record.contents);
      const std::string local_name = record.local_name.value_or(record.name);
      const uint64_t header = file.size();
      file += zip::kLocalHeader;
      fields(file, {{20, 2},
                    {record.flags.value_or(0), 2},
                    {record.local_method.value_or(method), 2},
                    {0, 4},
                    {record.local_crc.value_or(crc), 4},
                    {stored.size(), 4},
                    {record.contents.size(), 4},
                    {local_name.size(), 2},
                    {record.local_extra.size(), 2}});
      file += local_name + record.local_extra + stored;
      directory += zip::kDirectoryEntry;
      fields(directory, {{20, 2},
                         {20, 2},
                         {record.flags.value_or(0), 2},
                         {method, 2},
                         {0, 4},
                         {record.crc.value_or(crc), 4},
                         {record.stored_bytes.value_or(stored.size()), 4},
                         {record.bytes.value_or(record.contents.size()), 4},
                         {record.name.size(), 2},
                         {record.extra.size(), 2},
                         {0, 2},
                         {0, 2},
                         {0, 2},
                         {0, 4},
                         {record.header.value_or(header), 4}});
      directory += record.name + record.extra;
    }
    const uint64_t begin = file.size();
    file += directory;
    file += zip::kEnd;
    const uint64_t number = count.value_or(records.size());
    fields(file, {{0, 4},
                  {number, 2},
                  {number, 2},
                  {directory_bytes.value_or(directory.size()), 4},
                  {directory_begin.value_or(begin), 4},
                  {comment.size(), 2}});
    return file + comment + behind;
  }

 private:
  struct Field {
    uint64_t value;
    size_t width;
  };
  static void fields(std::string& bytes, const std::vector<Field>& list) {
    for (const Field& field : list) levin::zip::append(bytes, field.value, field.width);
  }
};
