#include <levin/modules/program/program_archive.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/checked_tensor.h>
#include <levin/core/state/format/zip_format.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace levin::program {
namespace {

/// The most that an expanded tensor may be larger than its memory.
constexpr uint64_t kMostExpansion = 1100;

/// Opens a file that may be a program; the message tells other formats apart.
FileBytes open_zip(const std::filesystem::path& path) {
  FileBytes bytes = map_file_bytes(path);
  if (is_safetensors_file(path))
    throw UsageError(bytes.name,
                     ": holds weights alone (safetensors), no program; load them into a program by the option weights");
  if (!bytes.text().starts_with("PK\x03\x04"))
    throw UsageError(bytes.name, ": not a program; a .pt2 file written by Python's torch.export.save was expected");
  return bytes;
}

/// Refuses an archive that takes much more memory than its file has.
ZipReader open_directory(const FileBytes& bytes) {
  ZipReader zip(bytes.text(), bytes.name);
  zip.check_growth();
  return zip;
}

/// Returns sizes and strides that were fixed at export.
std::vector<int64_t> numbers_of(const std::vector<Size>& sizes, const std::string& name) {
  std::vector<int64_t> numbers;
  for (const Size& size : sizes) {
    if (!std::holds_alternative<int64_t>(size)) throw UsageError("the size of '", name, "' is no number");
    numbers.push_back(std::get<int64_t>(size));
  }
  return numbers;
}

/// Returns a view of `bytes` as the tensor that `meta` describes.
at::Tensor view_of(const c10::Storage& storage, const TensorMeta& meta, const std::string& name) {
  uint64_t bytes = at::elementSize(meta.dtype);
  for (const int64_t size : numbers_of(meta.sizes, name)) {
    bytes *= static_cast<uint64_t>(std::max<int64_t>(size, 0));
    if (bytes / kMostExpansion > storage.nbytes())
      throw UsageError("'", name, "' shows its ", storage.nbytes(), " bytes as at least ", bytes,
                       "; give the model a tensor of its own in place of an expanded one (clone())");
  }
  return view_of_storage(storage, meta.dtype, meta.storage_offset, numbers_of(meta.sizes, name),
                         numbers_of(meta.strides, name));
}

c10::Storage storage_of(const std::string& bytes) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes.size(), c10::GetCPUAllocator(), /*resizable=*/false);
  if (!bytes.empty()) std::memcpy(storage.mutable_data(), bytes.data(), bytes.size());
  return storage;
}

}  // namespace

ProgramArchive::ProgramArchive(const std::filesystem::path& path)
    : bytes_(open_zip(path)),
      zip_(open_directory(bytes_)),
      folder_(find_folder()),
      model_(&model_record()),
      program_(parse_program(read(*model_), bytes_.name)),
      weights_(read_config(std::string(kWeightsFolder) + "model_weights_config.json")),
      constants_(read_config(std::string(kConstantsFolder) + "model_constants_config.json")) {}

/// PyTorch puts all records into one folder, which has the file's name.
std::string ProgramArchive::find_folder() const {
  for (const ZipRecord& record : zip_.records())
    if (record.name.ends_with("archive_format") || record.name.ends_with("data.pkl"))
      return std::string(record.name.substr(0, record.name.rfind('/') + 1));
  return {};
}

const ZipRecord& ProgramArchive::model_record() const {
  if (const ZipRecord* model = find(kModelRecord)) return *model;
  const std::string& file = bytes_.name;
  for (const ZipRecord& record : zip_.records()) {
    if (record.name.ends_with(".json") && record.name.starts_with(folder_ + "models/"))
      throw UsageError(file, ": holds several models; save one program by torch.export.save(program, path)");
    if (record.name.find("aotinductor/") != std::string_view::npos)
      throw UsageError(file,
                       ": a compiled package (aoti_compile_and_package), which cannot be trained; save the program "
                       "itself by torch.export.save(program, path)");
    if (record.name.ends_with("constants.pkl"))
      throw UsageError(file, ": TorchScript; train it as ScriptModule, by --model.class ScriptModule --model.file");
    if (record.name.ends_with("serialized_exported_program.json"))
      throw UsageError(file, ": written by an old PyTorch; export the model again by PyTorch 2.8 or newer");
  }
  if (find("data.pkl") != nullptr)
    throw UsageError(file,
                     ": holds what torch.save wrote (a state dict or a checkpoint), no program; load it into a program "
                     "by the option weights");
  throw UsageError(file, ": not a program, it has no ", kModelRecord,
                   "; a .pt2 file written by Python's torch.export.save was expected");
}

std::string ProgramArchive::read(const ZipRecord& record) const {
  std::string text;
  if (record.method == zip::kStored) {
    text = zip_.stored(record);
  } else {
    text.resize(record.bytes);
    zip_.inflate(record, text.data());
  }
  zip_.check(record, crc32_of_each({text}).front());
  return text;
}

/// Compares what a compressed record claims to unpack to with what its tensors need, before it is unpacked.
void ProgramArchive::check_size(const ZipRecord& record, const std::string& name,
                                const std::map<std::string, StoredTensor>& config) const {
  if (record.method == zip::kStored) return;
  uint64_t needed = 0;
  for (const auto& [tensor, stored] : config) {
    if (stored.record != name) continue;
    const TensorMeta& meta = stored.meta;
    needed = std::max(needed, bytes_in_storage(meta.dtype, meta.storage_offset, numbers_of(meta.sizes, tensor),
                                               numbers_of(meta.strides, tensor)));
  }
  if (record.bytes > needed)
    zip_.fail(record.header, record.name, " unpacks to ", record.bytes, " bytes, of which its tensors need ", needed,
              "; if you trust it, pack it without compression (zip -0)");
}

std::map<std::string, StoredTensor> ProgramArchive::read_config(const std::string& name) const {
  if (const ZipRecord* record = find(name)) return parse_stored_tensors(read(*record), bytes_.name);
  if (program_.inputs.empty() || name.starts_with(kConstantsFolder)) return {};
  throw UsageError(bytes_.name, ": has no ", name,
                   ": its weights are missing; save the program again by torch.export.save");
}

at::Tensor ProgramArchive::tensor(const std::string& name, const std::map<std::string, StoredTensor>& config,
                                  const std::string& folder) const {
  const auto found = config.find(name);
  if (found == config.end())
    throw UsageError(bytes_.name, ": has no tensor for '", name, "'; save the program again by torch.export.save");
  const StoredTensor& stored = found->second;
  const ZipRecord* record = find(folder + stored.record);
  if (record == nullptr)
    throw UsageError(bytes_.name, ": the file ", folder, stored.record, " with '", name,
                     "' is missing; save the program again by torch.export.save");
  try {
    check_size(*record, stored.record, config);
    const c10::Storage storage = storage_of(read(*record));
    if (stored.meta.dtype == at::kBool) normalize_bools(storage);
    return view_of(storage, stored.meta, name);
  } catch (const c10::Error& error) {
    throw UsageError(bytes_.name, ": '", name, "' is damaged: ", error.what_without_backtrace());
  } catch (const UsageError& error) {
    if (std::string_view(error.what()).starts_with(bytes_.name)) throw;  // of the archive
    throw UsageError(bytes_.name, ": ", error.what());
  }
}

at::Tensor ProgramArchive::weight(const std::string& name) const { return tensor(name, weights_, kWeightsFolder); }
at::Tensor ProgramArchive::constant(const std::string& name) const {
  return tensor(name, constants_, kConstantsFolder);
}

void ProgramArchive::save(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& weights,
                          const std::string& json) const {
  const c10::NoGradGuard no_grad;
  std::map<std::string, std::string> replaced = {{folder_ + kModelRecord, json}};
  for (const auto& [name, tensor] : weights) {
    const StoredTensor& stored = weights_.at(name);
    const std::string record = folder_ + kWeightsFolder + stored.record;
    if (replaced.contains(record)) continue;  // parameters that share memory
    const c10::Storage storage = storage_of(read(*find(kWeightsFolder + stored.record)));
    view_of(storage, stored.meta, name).copy_(tensor);
    replaced[record] = std::string(static_cast<const char*>(storage.data()), storage.nbytes());
  }
  AtomicFile file(path);
  // The folder is a part of each name: the writer puts one before them all.
  ZipWriter writer(folder_.empty() ? "program" : folder_.substr(0, folder_.size() - 1),
                   [&](const void* data, size_t bytes) { file.write(data, bytes); });
  for (const ZipRecord& record : zip_.records()) {
    const std::string name(record.name);
    const auto found = replaced.find(name);
    writer.add(name.substr(folder_.size()), found != replaced.end() ? found->second : read(record));
  }
  writer.finish();
  file.commit();
}

}  // namespace levin::program
