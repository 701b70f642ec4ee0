#include <levin/data/files/npz_file.h>
#include <ATen/ops/empty.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/zip_format.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/files/bytes_view.h>
#include <levin/data/files/npy_file.h>

#include <string_view>

namespace levin::data {
namespace {

constexpr std::string_view kArrayEnding = ".npy";

MappedFilePtr map_npz(const std::filesystem::path& path) {
  MappedFilePtr file = map_file(path);
  if (!file->text().starts_with("PK")) throw UsageError(path.string(), ": not a .npz file, which is a zip file");
  return file;
}

/// Returns whether npy_tensor will read all values of an array in memory, to move them or to change their bytes.
bool is_copied(std::string_view bytes, const std::string& place) {
  const NpyHeader header = parse_npy_header(bytes, place, static_cast<int64_t>(bytes.size()));
  const auto values = reinterpret_cast<uintptr_t>(bytes.data()) + static_cast<uintptr_t>(header.data_offset);
  const size_t number = c10::elementSize(header.dtype) / (c10::isComplexType(header.dtype) ? 2 : 1);
  return header.big_endian || values % number != 0;
}

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& path)
    : name_(path.string()), file_(map_npz(path)), zip_(file_->text(), name_, "a .npz file") {
  for (const ZipRecord& record : zip_.records())
    if (!record.name.ends_with(kArrayEnding)) throw UsageError(name_, ": member ", record.name, " is no .npy file");
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipRecord& record : zip_.records())
    names.emplace_back(record.name.substr(0, record.name.size() - kArrayEnding.size()));
  return names;
}

at::Tensor NpzFile::array(const std::string& name) const {
  const ZipRecord* const record = zip_.find(name + std::string(kArrayEnding));
  if (!record) {
    const std::string text = joined(names());
    throw UsageError(name_, ": no array '", name, "'; it holds ", text.empty() ? "nothing" : text,
                     did_you_mean(name, names()));
  }
  const std::string place = name_ + ": member " + std::string(record->name);
  const std::string_view stored = zip_.stored(*record);
  if (record->method == zip::kStored) {
    if (is_copied(stored, place)) zip_.check(*record, crc32_of(stored));
    return npy_tensor(bytes_view(stored.data(), static_cast<int64_t>(stored.size()), file_), place, file_.get());
  }
  if (record->bytes / zip::kMostDeflated > record->stored_bytes)
    zip_.fail(record->header, record->name, " of ", record->stored_bytes, " bytes claims to unpack to ", record->bytes);
  const at::Tensor bytes = at::empty({static_cast<int64_t>(record->bytes)}, at::TensorOptions(at::kByte));
  auto* const begin = static_cast<char*>(bytes.mutable_data_ptr());
  zip_.inflate(*record, begin);
  zip_.check(*record, crc32_of({begin, record->bytes}));
  return npy_tensor(bytes, place);
}

}  // namespace levin::data
