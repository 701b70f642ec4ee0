#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

/// Writers of valid and deliberately broken archives for tests: tar, zip and gzip, byte by byte.

using ArchiveMembers = std::vector<std::pair<std::string, std::string>>;  // name, bytes

namespace archive_detail {

/// Returns `value` as `count` bytes, little-endian.
inline std::string number(uint64_t value, int count) {
  std::string bytes;
  for (; count > 0; --count, value >>= 8) bytes += static_cast<char>(value & 255);
  return bytes;
}

inline uint32_t crc32(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320 : 0);
  }
  return ~crc;
}

/// Returns a deflate stream of stored (uncompressed) blocks.
inline std::string deflated(const std::string& bytes) {
  std::string out;
  size_t done = 0;
  do {
    const size_t part = std::min<size_t>(bytes.size() - done, 0xFFFF);
    out += static_cast<char>(done + part == bytes.size());
    out += number(part, 2) + number(~part, 2) + bytes.substr(done, part);
    done += part;
  } while (done < bytes.size());
  return out;
}

inline std::string octal(uint64_t value, int digits) {
  std::string text(static_cast<size_t>(digits), '0');
  for (size_t i = text.size(); i-- > 0; value >>= 3) text[i] = static_cast<char>('0' + (value & 7));
  return text;
}

}  // namespace archive_detail

inline std::string zip_bytes(const ArchiveMembers& members, bool deflate) {
  using archive_detail::number;
  std::string file, directory;
  for (const auto& [name, bytes] : members) {
    const std::string data = deflate ? archive_detail::deflated(bytes) : bytes;
    const std::string about = number(20, 2) + number(0, 2) + number(deflate ? 8 : 0, 2) + number(0, 4) +
                              number(archive_detail::crc32(bytes), 4) + number(data.size(), 4) +
                              number(bytes.size(), 4) + number(name.size(), 2) + number(0, 2);
    directory += "PK\x01\x02" + number(20, 2) + about + number(0, 10) + number(file.size(), 4) + name;
    file += "PK\x03\x04" + about + name + data;
  }
  return file + directory + "PK\x05\x06" + number(0, 4) + number(members.size(), 2) + number(members.size(), 2) +
         number(directory.size(), 4) + number(file.size(), 4) + number(0, 2);
}

inline std::string gzip_bytes(const std::string& bytes) {
  return "\x1f\x8b\x08" + archive_detail::number(0, 7) + archive_detail::deflated(bytes) +
         archive_detail::number(archive_detail::crc32(bytes), 4) + archive_detail::number(bytes.size(), 4);
}

/// Returns one member of a tar file (ustar); `type` '0' is a file, '5' a folder, '1' and '2' are links.
inline std::string tar_member(const std::string& name, const std::string& bytes, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(108, 7, "0000000");
  header.replace(116, 7, "0000000");
  header.replace(124, 11, archive_detail::octal(bytes.size(), 11));
  header.replace(136, 11, archive_detail::octal(0, 11));
  header.replace(148, 8, std::string(8, ' '));
  header[156] = type;
  if (type == '1' || type == '2') header.replace(157, 6, "target");
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, archive_detail::octal(sum, 6) + '\0');
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

/// Returns a tar file: its members and two empty blocks.
inline std::string tar_bytes(const ArchiveMembers& members) {
  std::string file;
  for (const auto& [name, bytes] : members) file += tar_member(name, bytes);
  return file + std::string(1024, '\0');
}

inline void write_zip(const std::filesystem::path& path, const ArchiveMembers& members, bool deflate) {
  std::ofstream(path, std::ios::binary) << zip_bytes(members, deflate);
}
