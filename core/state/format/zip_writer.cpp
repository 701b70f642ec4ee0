#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/zip_format.h>

#include <algorithm>
#include <cstdio>

namespace levin {
namespace {

constexpr uint64_t kContentAlignment = 64;

/// Mixes bytes into an FNV-1a hash (Fowler, Noll and Vo).
void mix_hash(uint64_t& hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
}

uint64_t in_32_bits(uint64_t value) { return std::min<uint64_t>(value, zip::kIn64); }

/// Returns the zip64 extra field for the numbers that do not fit in 32 bits; "" if all do.
std::string extra64(uint64_t bytes, uint64_t header) {
  std::string values;
  if (bytes >= zip::kIn64) {
    zip::append(values, bytes, 8);
    zip::append(values, bytes, 8);
  }
  if (header >= zip::kIn64) zip::append(values, header, 8);
  if (values.empty()) return {};
  std::string field;
  zip::append(field, zip::kExtra64, 2);
  zip::append(field, values.size(), 2);
  return field + values;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  sink_(bytes.data(), bytes.size());
  position_ += bytes.size();
}

/// Sizes and checksum stay 0: they follow the contents.
std::string ZipWriter::local_header(const std::string& name, uint64_t bytes) const {
  std::string extra = extra64(bytes, position_);
  constexpr uint64_t kFieldBytes = 4;
  const uint64_t contents = position_ + zip::kLocalHeaderBytes + name.size() + extra.size() + kFieldBytes;
  const uint64_t padding = (kContentAlignment - contents % kContentAlignment) % kContentAlignment;
  extra += "FB";
  zip::append(extra, padding, 2);
  extra.append(padding, 'Z');

  std::string header(zip::kLocalHeader);
  zip::append(header, 0, 2);  // version needed
  zip::append(header, zip::kUtf8 | (bytes > 0 ? zip::kHasDataDescriptor : 0), 2);
  header.append(2 + 4 + 3 * 4, '\0');  // method, time, checksum and sizes
  zip::append(header, name.size(), 2);
  zip::append(header, extra.size(), 2);
  return header + name + extra;
}

void ZipWriter::add(const std::string& name, std::string_view contents) {
  const std::string whole_name = folder_.empty() ? name : folder_ + "/" + name;
  const Record record{position_, contents.size(), crc32_of_each({contents}).front()};
  const size_t width = extra64(record.bytes, record.header).empty() ? 4 : 8;
  write(local_header(whole_name, contents.size()));
  write(contents);
  std::string checksum;
  zip::append(checksum, record.crc, 4);
  if (record.bytes > 0) {
    std::string descriptor = std::string(zip::kDataDescriptor) + checksum;
    zip::append(descriptor, record.bytes, width);
    zip::append(descriptor, record.bytes, width);
    write(descriptor);
  }
  list(whole_name, record);
  mix_hash(names_, name);
  mix_hash(checksums_, checksum);
}

/// Adds a record to the directory.
void ZipWriter::list(const std::string& name, const Record& record) {
  const std::string extra = extra64(record.bytes, record.header);
  directory_ += zip::kDirectoryEntry;
  zip::append(directory_, 0, 4);  // versions
  zip::append(directory_, zip::kUtf8 | (record.bytes > 0 ? zip::kHasDataDescriptor : 0), 2);
  zip::append(directory_, zip::kStored, 2);
  zip::append(directory_, 0, 4);  // time
  zip::append(directory_, record.crc, 4);
  zip::append(directory_, in_32_bits(record.bytes), 4);
  zip::append(directory_, in_32_bits(record.bytes), 4);
  zip::append(directory_, name.size(), 2);
  zip::append(directory_, extra.size(), 2);
  zip::append(directory_, 0, 2 + 2 + 2);  // comment, disk, text or not
  zip::append(directory_, 0, 4);          // rights
  zip::append(directory_, in_32_bits(record.header), 4);
  directory_ += name + extra;
  ++records_;
}

std::string ZipWriter::fingerprint() const {
  std::string digits(41, '\0');
  std::snprintf(digits.data(), digits.size(), "%020llu%020llu", static_cast<unsigned long long>(names_),
                static_cast<unsigned long long>(checksums_));
  digits.pop_back();
  return digits;
}

void ZipWriter::finish() {
  const uint64_t begin = position_;
  write(directory_);
  const uint64_t end = position_;
  std::string tail(zip::kEnd64);
  zip::append(tail, zip::kEnd64Bytes - 12, 8);
  zip::append(tail, 0x031e, 2);  // made by: Unix
  zip::append(tail, 45, 2);      // version needed: 4.5, for zip64
  zip::append(tail, 0, 8);       // disks
  zip::append(tail, records_, 8);
  zip::append(tail, records_, 8);
  zip::append(tail, directory_.size(), 8);
  zip::append(tail, begin, 8);
  tail += zip::kEnd64Locator;
  zip::append(tail, 0, 4);
  zip::append(tail, end, 8);
  zip::append(tail, 1, 4);  // number of disks
  tail += zip::kEnd;
  zip::append(tail, 0, 4);
  zip::append(tail, std::min<uint64_t>(records_, zip::kCountIn64), 2);
  zip::append(tail, std::min<uint64_t>(records_, zip::kCountIn64), 2);
  zip::append(tail, in_32_bits(directory_.size()), 4);
  zip::append(tail, in_32_bits(begin), 4);
  zip::append(tail, 0, 2);
  write(tail);
}

}  // namespace levin
