#include <levin/core/state/state_archive.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/checked_tensor.h>
#include <levin/core/state/format/zip_format.h>
#include <levin/core/system/error.h>

#include <c10/core/Allocator.h>

#include <cstring>
#include <memory>
#include <utility>

namespace levin {
namespace {

constexpr std::string_view kPickle = "data.pkl";

/// Checks the first bytes, which distinguish a zip file from files of older or other programs.
const FileBytes& checked_format(const FileBytes& file) {
  const std::string_view text = file.text();
  if (text.starts_with(zip::kLocalHeader)) return file;
  if (text.size() >= 2 && text[0] == '\x80' && static_cast<uint8_t>(text[1]) <= 5)
    throw UsageError(file.name,
                     ": written in PyTorch's old format (before 1.6), or by pickle; load it in Python and "
                     "save it again with torch.save(obj, path)");
  throw UsageError(file.name, ": not a PyTorch file; one written by torch.save or by levin was expected");
}

c10::Storage storage_of(const FileBytes& bytes) {
  auto owner = std::make_unique<std::shared_ptr<void>>(bytes.owner);
  const auto release = [](void* held) { delete static_cast<std::shared_ptr<void>*>(held); };
  at::DataPtr data(bytes.data, owner.get(), release, at::kCPU);
  owner.release();
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes.size, std::move(data), nullptr, /*resizable=*/false);
}

}  // namespace

StateArchive::StateArchive(FileBytes file, bool verify_checksums)
    : file_(std::move(file)),
      zip_(checked_format(file_).text(), file_.name),
      verify_checksums_(verify_checksums),
      folder_(find_folder()) {
  check_kind();
  const ZipRecord* record = find(std::string(kPickle));
  if (!record) throw UsageError(file_.name, ": not a PyTorch file, it has no data.pkl");
  pickle_ = read_checked(*record);
}

/// torch.save names the folder after the file; repacked archives may have no folder.
std::string StateArchive::find_folder() const {
  for (const ZipRecord& record : zip_.records())
    if (record.name == kPickle || record.name.ends_with("/data.pkl"))
      return std::string(record.name.substr(0, record.name.size() - kPickle.size()));
  const std::string_view first = zip_.records().empty() ? "" : zip_.records().front().name;
  return std::string(first.substr(0, first.find('/') + 1));
}

void StateArchive::check_kind() {
  if (find("constants.pkl"))
    throw UsageError(file_.name,
                     ": a TorchScript file (torch.jit.save's, or C++ torch::save's); a state dict saved by "
                     "Python's torch.save or by levin was expected");
  const ZipRecord* order = find("byteorder");
  if (order && read_checked(*order).text() != "little")
    throw UsageError(file_.name, ": written on a big-endian machine; load and save it again on a little-endian one");
}

/// Allocates memory for a record's contents, if the file may ask for that much.
FileBytes StateArchive::allocate(const ZipRecord& record) {
  constexpr size_t kMoreThanFile = 64 << 20;
  const size_t most = file_.size + kMoreThanFile - copied_bytes_;
  if (record.bytes / zip::kMostDeflated > record.stored_bytes)
    zip_.fail(record.header, record.name, " of ", record.stored_bytes, " bytes claims to unpack to ", record.bytes);
  if (record.bytes > most)
    zip_.fail(record.header, record.name, " unpacks to ", record.bytes,
              " bytes, and a file may grow by 64 MB in memory; if you trust it, pack it without compression (zip -0)");
  copied_bytes_ += record.bytes;
  const size_t bytes = record.bytes;
  at::DataPtr room = c10::GetAllocator(at::kCPU)->allocate(bytes);
  char* data = static_cast<char*>(room.get());
  return {file_.name, std::make_shared<at::DataPtr>(std::move(room)), data, bytes};
}

FileBytes StateArchive::read(const ZipRecord& record) {
  if (record.method == zip::kDeflated) {
    FileBytes unpacked = allocate(record);
    zip_.inflate(record, unpacked.data);
    return unpacked;
  }
  const std::string_view stored = zip_.stored(record);
  return {file_.name, file_.owner, file_.data + (stored.data() - file_.data), stored.size()};
}

FileBytes StateArchive::read_checked(const ZipRecord& record) {
  FileBytes bytes = read(record);
  zip_.check(record, crc32_of(bytes.text()));
  return bytes;
}

c10::Storage StateArchive::storage(const std::string& key, size_t bytes, c10::ScalarType type) {
  auto found = memories_.find(key);
  if (found == memories_.end()) {
    if (bytes == 0) return storage_of({});
    found = memories_.emplace(key, load(key)).first;
  }
  Memory& memory = found->second;
  if (memory.storage.nbytes() < bytes)
    throw UsageError(file_.name, ": damaged, data/", key, " has ", memory.storage.nbytes(), " bytes, its tensors need ",
                     bytes);
  memory.holds_bools |= type == c10::ScalarType::Bool;
  return memory.storage;
}

StateArchive::Memory StateArchive::load(const std::string& key) {
  const std::string name = "data/" + key;
  const ZipRecord* record = find(name);
  if (!record) throw UsageError(file_.name, ": damaged, it lacks the tensor data ", name);
  Memory memory{.record = record, .bytes = read(*record)};
  // The alignment of the widest type, complex128.
  constexpr uintptr_t kAlignment = 16;
  if (reinterpret_cast<uintptr_t>(memory.bytes.data) % kAlignment == 0) {
    memory.storage = storage_of(memory.bytes);
  } else {
    const FileBytes copy = allocate(*record);
    std::memcpy(copy.data, memory.bytes.data, copy.size);
    memory.storage = storage_of(copy);
  }
  return memory;
}

void StateArchive::finish() {
  if (!verify_checksums_) return;
  std::vector<std::string_view> contents;
  for (const auto& [key, memory] : memories_) contents.push_back(memory.bytes.text());
  const std::vector<uint32_t> crcs = crc32_of_each(contents);
  size_t next = 0;
  for (const auto& [key, memory] : memories_) zip_.check(*memory.record, crcs[next++]);
  for (const auto& [key, memory] : memories_)
    if (memory.holds_bools) normalize_bools(memory.storage);
}

}  // namespace levin
