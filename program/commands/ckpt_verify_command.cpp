#include <levin/core/state/crc32.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/format/zip_reader.h>
#include <levin/core/system/error.h>
#include <levin/program/commands/ckpt_file.h>
#include <levin/program/commands/commands.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace levin::cli {
namespace {

/// Compares the checksum of every record of a zip archive, including records that nothing refers to. Returns the number
/// of records; throws levin::UsageError for the first wrong checksum.
size_t verify_records(const std::filesystem::path& path) {
  const FileBytes file = map_file_bytes(path);
  const ZipReader zip(file.text(), file.name);
  std::vector<std::string_view> stored;
  for (const ZipRecord& record : zip.records())
    if (record.method == 0) stored.push_back(zip.stored(record));
  const std::vector<uint32_t> checksums = crc32_of_each(stored);
  size_t next = 0;
  for (const ZipRecord& record : zip.records())
    zip.check(record, record.method == 0 ? checksums[next++] : zip.inflated_crc(record));
  return zip.records().size();
}

/// Returns the message for an intact file. Throws levin::UsageError for a damaged one.
std::string verified(const std::filesystem::path& path) {
  const CkptFile file = read_ckpt_file(path, /*verify_checksums=*/false, tensor_without_memory);
  int64_t tensors = 0;
  for (const CkptEntry& entry : entries_of(file.state)) tensors += entry.value->is_tensor() ? 1 : 0;
  const std::string text = path.string() + ": ok, " + std::to_string(tensors) + (tensors == 1 ? " tensor" : " tensors");
  if (file.is_safetensors) return text + "; the format has no checksums, its sizes agree";
  size_t checksums = verify_records(file.path);
  for (const std::filesystem::path& part : file.parts) checksums += verify_records(part);
  const std::string parts = file.parts.empty() ? "" : " in " + std::to_string(file.parts.size() + 1) + " files";
  return text + ", " + std::to_string(checksums) + " checksums" + parts;
}

/// Reads the files completely, compares every checksum and prints a line per file. Returns whether all are intact.
bool ckpt_verify(std::ostream& out, const std::vector<std::filesystem::path>& files) {
  bool all_whole = true;
  for (const std::filesystem::path& path : files) {
    try {
      out << verified(path) << std::endl;
    } catch (const UsageError& error) {
      all_whole = false;
      out << error.what() << std::endl;
    }
  }
  return all_whole;
}

int run_ckpt_verify(const NoOptions& /*flags*/, const Words& words) {
  return ckpt_verify(std::cout, {words.begin(), words.end()}) ? 0 : 1;
}

}  // namespace

Command ckpt_verify_command() {
  return make_command({.name = "ckpt verify",
                       .summary = "Say whether checkpoints are whole, by their checksums",
                       .usage = "FILE...",
                       .about = "Reads the files whole. The exit code is 1 if one is damaged.",
                       .least = 1,
                       .most = kAnyNumber},
                      run_ckpt_verify);
}

}  // namespace levin::cli
