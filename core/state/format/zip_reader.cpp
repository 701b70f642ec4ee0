#include <levin/core/state/format/zip_reader.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/zip_format.h>

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace levin {

ZipReader::ZipReader(std::string_view bytes, std::string file, const char* kind)
    : bytes_(bytes), file_(std::move(file)), kind_(kind) {
  const Directory directory = find_directory();
  read_directory(directory);
  check_order(directory.begin);
  index_names();
}

/// Never reads beyond the end, whatever was checked before.
uint64_t ZipReader::number(uint64_t at, size_t width) const {
  if (at > bytes_.size() || width > bytes_.size() - at) fail(at, "it ends too early");
  return zip::number(bytes_, at, width);
}

bool ZipReader::has_signature(uint64_t at, std::string_view signature) const {
  return at <= bytes_.size() && bytes_.substr(at, signature.size()) == signature;
}

/// Returns the last end record whose comment reaches to the last byte, since bytes of a comment may look like an end
/// record. If there is none, data follows the archive, which Python allows, and the last end record counts.
uint64_t ZipReader::find_end() const {
  constexpr uint64_t kLongestComment = 0xffff;
  if (bytes_.size() < zip::kEndBytes) fail(bytes_.size(), "it is cut off, the directory at its end is missing");
  const uint64_t last = bytes_.size() - zip::kEndBytes, first = last - std::min(last, kLongestComment);
  const std::string_view tail = bytes_.substr(first);
  uint64_t last_found = bytes_.size();
  for (size_t at = tail.rfind(zip::kEnd, last - first); at != std::string_view::npos;
       at = at > 0 ? tail.rfind(zip::kEnd, at - 1) : std::string_view::npos) {
    const uint64_t behind = first + at + zip::kEndBytes + number(first + at + 20, 2);
    if (behind == bytes_.size()) return first + at;
    if (behind < bytes_.size() && last_found == bytes_.size()) last_found = first + at;
  }
  if (last_found == bytes_.size()) fail(bytes_.size(), "it is cut off, the directory at its end is missing");
  return last_found;
}

ZipReader::Directory ZipReader::find_directory() const {
  const uint64_t end = find_end();
  Directory directory{number(end + 16, 4), number(end + 12, 4), number(end + 10, 2)};
  if (number(end + 4, 4) != 0 || number(end + 8, 2) != directory.records) fail(end, "it is a part of several files");
  uint64_t directory_end = end;
  if (end >= zip::kEnd64LocatorBytes && has_signature(end - zip::kEnd64LocatorBytes, zip::kEnd64Locator)) {
    read_end64(end, directory);
    directory_end = number(end - zip::kEnd64LocatorBytes + 8, 8);
  }
  if (directory.begin > directory_end || directory.bytes > directory_end - directory.begin)
    fail(end, "its directory of ", directory.bytes, " bytes at ", directory.begin, " does not lie before its end");
  return directory;
}

void ZipReader::read_end64(uint64_t end, Directory& directory) const {
  const uint64_t locator = end - zip::kEnd64LocatorBytes;
  const uint64_t end64 = number(locator + 8, 8);
  if (end64 > locator || locator - end64 < zip::kEnd64Bytes || !has_signature(end64, zip::kEnd64))
    fail(locator, "its zip64 end is not where it should be");
  if (number(locator + 4, 4) != 0 || number(end64 + 16, 8) != 0) fail(end64, "it is a part of several files");
  const Directory in64{number(end64 + 48, 8), number(end64 + 40, 8), number(end64 + 32, 8)};
  const bool same = (directory.begin == in64.begin || directory.begin == zip::kIn64) &&
                    (directory.bytes == in64.bytes || directory.bytes == zip::kIn64) &&
                    (directory.records == in64.records || directory.records == zip::kCountIn64);
  if (!same || number(end64 + 24, 8) != in64.records) fail(end64, "its two ends contradict each other");
  directory = in64;
}

void ZipReader::read_directory(const Directory& directory) {
  const bool has_room = directory.records <= directory.bytes / zip::kDirectoryEntryBytes &&
                        directory.records <= bytes_.size() / (zip::kDirectoryEntryBytes + zip::kLocalHeaderBytes);
  if (!has_room)
    fail(directory.begin, "its directory of ", directory.bytes, " bytes is said to have ", directory.records,
         " records");
  records_.reserve(directory.records);
  uint64_t at = directory.begin;
  for (uint64_t i = 0; i < directory.records; ++i)
    records_.push_back(read_entry(at, directory.begin + directory.bytes, at));
  if (at != directory.begin + directory.bytes) fail(at, "its directory is longer than its records");
}

ZipRecord ZipReader::read_entry(uint64_t at, uint64_t directory_end, uint64_t& next) const {
  if (directory_end - at < zip::kDirectoryEntryBytes || !has_signature(at, zip::kDirectoryEntry))
    fail(at, "a record is missing in its directory");
  const uint64_t name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2);
  const uint64_t name_at = at + zip::kDirectoryEntryBytes, extra_at = name_at + name_bytes;
  next = extra_at + extra_bytes + number(at + 32, 2);
  if (next > directory_end) fail(at, "a record goes beyond its directory");
  ZipRecord record{.name = bytes_.substr(name_at, name_bytes),
                   .header = number(at + 42, 4),
                   .stored_bytes = number(at + 20, 4),
                   .bytes = number(at + 24, 4),
                   .crc = static_cast<uint32_t>(number(at + 16, 4)),
                   .method = static_cast<uint16_t>(number(at + 10, 2))};
  if (record.name.empty() || record.name.find('\0') != std::string_view::npos)
    fail(at, "a record's name is empty or has a NUL");
  read_extra64(extra_at, extra_at + extra_bytes, number(at + 34, 2) != 0, record);
  if (number(at + 8, 2) & zip::kUnreadable) fail(at, record.name, " is encrypted");
  if (record.method != zip::kStored && record.method != zip::kDeflated)
    fail(at, record.name, " is packed by method ", record.method, ", which PyTorch does not read either");
  if (record.method == zip::kStored && record.bytes != record.stored_bytes)
    fail(at, record.name, " has ", record.stored_bytes, " bytes and is said to have ", record.bytes);
  return record;
}

/// Reads those numbers that need more than 32 bits, from the zip64 extra field.
void ZipReader::read_extra64(uint64_t at, uint64_t end, bool has_disk, ZipRecord& record) const {
  if (has_disk) fail(at, "it is a part of several files");
  const bool is_needed = record.bytes == zip::kIn64 || record.stored_bytes == zip::kIn64 || record.header == zip::kIn64;
  while (is_needed && end - at >= 4) {
    const uint64_t kind = number(at, 2), field_end = at + 4 + number(at + 2, 2);
    if (field_end > end) fail(at, "an extra field of ", record.name, " is cut off");
    if (kind == zip::kExtra64) {
      at += 4;
      for (uint64_t* value : {&record.bytes, &record.stored_bytes, &record.header}) {
        if (*value != zip::kIn64) continue;
        if (field_end - at < 8) fail(at, "the zip64 numbers of ", record.name, " are cut off");
        *value = number(at, 8);
        at += 8;
      }
      return;
    }
    at = field_end;
  }
}

/// Sorts by place and rejects records that overlap even if their headers had no extra fields.
void ZipReader::check_order(uint64_t directory_begin) {
  std::sort(records_.begin(), records_.end(),
            [](const ZipRecord& a, const ZipRecord& b) { return a.header < b.header; });
  for (size_t i = 0; i < records_.size(); ++i) {
    ZipRecord& record = records_[i];
    record.limit = i + 1 < records_.size() ? records_[i + 1].header : directory_begin;
    const uint64_t least = zip::kLocalHeaderBytes + record.name.size();
    if (record.header > directory_begin || record.limit > directory_begin || record.limit - record.header < least ||
        record.limit - record.header - least < record.stored_bytes)
      fail(record.header, record.name, " of ", record.stored_bytes, " bytes overlaps what follows it");
  }
}

void ZipReader::index_names() {
  if (records_.size() > std::numeric_limits<uint32_t>::max()) fail(0, "it has ", records_.size(), " records");
  by_name_.resize(records_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  const auto name = [&](uint32_t index) { return records_[index].name; };
  std::sort(by_name_.begin(), by_name_.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  const auto twin =
      std::adjacent_find(by_name_.begin(), by_name_.end(), [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (twin != by_name_.end()) fail(records_[*twin].header, "there are two records ", name(*twin));
}

const ZipRecord* ZipReader::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](uint32_t index, std::string_view wanted) { return records_[index].name < wanted; });
  return found != by_name_.end() && records_[*found].name == name ? &records_[*found] : nullptr;
}

std::string_view ZipReader::stored(const ZipRecord& record) const {
  const uint64_t at = record.header;
  const uint64_t name_bytes = number(at + 26, 2);
  const auto flags = static_cast<uint16_t>(number(at + 6, 2));
  const bool fits = has_signature(at, zip::kLocalHeader) && !(flags & zip::kUnreadable) &&
                    number(at + 8, 2) == record.method && name_bytes == record.name.size() &&
                    has_signature(at + zip::kLocalHeaderBytes, record.name);
  if (!fits) fail(at, "the header of ", record.name, " differs from what the directory says");
  // If a descriptor follows the data, the header's own numbers are 0 or unreliable.
  const auto differs = [&](uint64_t field, uint64_t value) {
    const uint64_t own = number(at + field, 4);
    return own != value && own != zip::kIn64;
  };
  if (!(flags & zip::kHasDataDescriptor) &&
      (number(at + 14, 4) != record.crc || differs(18, record.stored_bytes) || differs(22, record.bytes)))
    fail(at, "the header of ", record.name, " differs from what the directory says");
  const uint64_t data = at + zip::kLocalHeaderBytes + name_bytes + number(at + 28, 2);
  if (data > record.limit || record.limit - data < record.stored_bytes)
    fail(at, record.name, " of ", record.stored_bytes, " bytes overlaps what follows it");
  return bytes_.substr(data, record.stored_bytes);
}

/// Decompresses into the memory that `room()` returns again and again; `take(bytes)` is told how many it got. It is
/// never given more than the record is said to have.
template <class Room, class Take>
void ZipReader::inflate(const ZipRecord& record, const Room& room, const Take& take) const {
  std::string_view in = stored(record);
  z_stream stream = {};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Error(file_, ": zlib has no memory to unpack ", record.name);
  uint64_t left = record.bytes;
  Bytef nothing = 0;  // zlib needs an address even if there is nothing to write
  int result = Z_OK;
  constexpr uint64_t kMost = 1 << 30;  // zlib counts in 32 bits
  do {
    const auto [memory, size] = room();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    const auto given = static_cast<uInt>(std::min<uint64_t>(in.size(), kMost));
    const auto most = static_cast<uInt>(std::min({left, size, kMost}));
    stream.next_out = most > 0 ? reinterpret_cast<Bytef*>(memory) : &nothing;
    stream.avail_in = given;
    stream.avail_out = most;
    result = ::inflate(&stream, Z_NO_FLUSH);
    const uInt got = most - stream.avail_out;
    in.remove_prefix(given - stream.avail_in);
    left -= got;
    take(got);
    if (given == stream.avail_in && got == 0 && result == Z_OK) result = Z_BUF_ERROR;
  } while (result == Z_OK);
  ::inflateEnd(&stream);
  if (result != Z_STREAM_END || left != 0 || !in.empty())
    fail(record.header, record.name, " cannot be unpacked to its ", record.bytes, " bytes");
}

void ZipReader::inflate(const ZipRecord& record, char* out) const {
  uint64_t done = 0;
  inflate(record, [&] { return std::pair(out + done, record.bytes - done); }, [&](uint64_t bytes) { done += bytes; });
}

uint32_t ZipReader::inflated_crc(const ZipRecord& record) const {
  constexpr uint64_t kPiece = 1 << 20;
  std::string piece(std::min(record.bytes, kPiece), '\0');
  uint32_t crc = 0;
  inflate(
      record, [&] { return std::pair(piece.data(), uint64_t{piece.size()}); },
      [&](uint64_t bytes) { crc = crc32_of(std::string_view(piece).substr(0, bytes), crc); });
  return crc;
}

void ZipReader::check_growth() const {
  constexpr uint64_t kMoreThanFile = 64 << 20;
  uint64_t left = bytes_.size() + kMoreThanFile;
  for (const ZipRecord& record : records_) {
    if (record.method != zip::kDeflated) continue;
    if (record.bytes / zip::kMostDeflated > record.stored_bytes)
      fail(record.header, record.name, " of ", record.stored_bytes, " bytes claims to unpack to ", record.bytes);
    if (record.bytes > left)
      fail(record.header, record.name, " unpacks to ", record.bytes,
           " bytes, and a file may grow by 64 MB in memory; if you trust it, pack it without compression (zip -0)");
    left -= record.bytes;
  }
}

void ZipReader::check(const ZipRecord& record, uint32_t crc) const {
  if (crc == record.crc) return;
  fail(static_cast<uint64_t>(stored(record).data() - bytes_.data()), "the ", record.bytes, " bytes of ", record.name,
       " do not have their checksum");
}

}  // namespace levin
