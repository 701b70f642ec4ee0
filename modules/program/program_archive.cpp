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
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/program/old_files.h>

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
FileBytes open_zip(const std::filesystem::path& given) {
  const std::filesystem::path path = local_path(given);
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

std::string_view bytes_of(const c10::Storage& storage) {
  return {static_cast<const char*>(storage.data()), storage.nbytes()};
}

}  // namespace

ProgramArchive::ProgramArchive(const std::filesystem::path& path)
    : bytes_(open_zip(path)),
      zip_(open_directory(bytes_)),
      folder_(find_folder()),
      model_(&model_record()),
      program_(parse_program(json(), bytes_.name)),
      old_weights_(is_old() ? load_old(old_files::kWeights) : State()),
      old_constants_(is_old() ? load_old(old_files::kConstants) : State()),
      weights_(is_old() ? old_files::describe(old_weights_, program_)
                        : read_config(std::string(kWeightsFolder) + "model_weights_config.json")),
      constants_(is_old() ? old_files::describe(old_constants_, program_)
                          : read_config(std::string(kConstantsFolder) + "model_constants_config.json")) {}

bool ProgramArchive::is_old() const { return model_->name == folder_ + old_files::kModelRecord; }

std::string ProgramArchive::json() const {
  std::string text = text_of(*model_);
  return is_old() ? old_files::with_quotes(std::move(text)) : text;
}

/// Reads one of an old file's files of torch.save.
State ProgramArchive::load_old(const char* name) const {
  const ZipRecord* const record = find(name);
  if (record == nullptr)
    throw UsageError(bytes_.name, ": has no ", name, "; save the program again by torch.export.save");
  FileBytes file;
  if (record->method == zip::kStored) {
    const std::string_view stored = zip_.stored(*record);
    file = {.owner = bytes_.owner, .data = bytes_.data + (stored.data() - bytes_.data), .size = stored.size()};
  } else {
    file = copy_file_bytes(text_of(*record), "");
  }
  file.name = bytes_.name + ": " + name;
  State state = load_state_bytes(file);
  if (!state.is_dict()) throw UsageError(file.name, ": a dict of tensors was expected");
  return state;
}

/// PyTorch puts all records into one folder, which has the file's name.
std::string ProgramArchive::find_folder() const {
  for (const ZipRecord& record : zip_.records())
    if (record.name.ends_with("archive_format") || record.name.ends_with("data.pkl"))
      return std::string(record.name.substr(0, record.name.rfind('/') + 1));
  return {};
}

const ZipRecord& ProgramArchive::model_record() const {
  for (const char* name : {kModelRecord, old_files::kModelRecord})
    if (const ZipRecord* model = find(name)) return *model;
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
  }
  if (find("data.pkl") != nullptr)
    throw UsageError(file,
                     ": holds what torch.save wrote (a state dict or a checkpoint), no program; load it into a program "
                     "by the option weights");
  throw UsageError(file, ": not a program, it has no ", kModelRecord,
                   "; a .pt2 file written by Python's torch.export.save was expected");
}

/// Copies a record's contents to `to`, which has room for them, and checks them.
void ProgramArchive::read(const ZipRecord& record, char* to) const {
  if (record.method == zip::kStored) {
    const std::string_view stored = zip_.stored(record);
    std::copy(stored.begin(), stored.end(), to);
  } else {
    zip_.inflate(record, to);
  }
  zip_.check(record, crc32_of_each({{to, record.bytes}}).front());
}

std::string ProgramArchive::text_of(const ZipRecord& record) const {
  std::string text(record.bytes, '\0');
  read(record, text.data());
  return text;
}

c10::Storage ProgramArchive::storage_of(const ZipRecord& record) const {
  c10::Storage storage(c10::Storage::use_byte_size_t(), record.bytes, c10::GetCPUAllocator(), /*resizable=*/false);
  if (record.bytes > 0) read(record, static_cast<char*>(storage.mutable_data()));
  return storage;
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
  if (const ZipRecord* record = find(name)) return parse_stored_tensors(text_of(*record), bytes_.name);
  if (program_.inputs.empty() || name.starts_with(kConstantsFolder)) return {};
  throw UsageError(bytes_.name, ": has no ", name,
                   ": its weights are missing; save the program again by torch.export.save");
}

/// Returns a copy of the memory that a tensor is in.
c10::Storage ProgramArchive::storage_of(const StoredTensor& stored, const std::string& name,
                                        const std::string& folder) const {
  const bool is_weight = folder == kWeightsFolder;
  if (is_old()) {
    const c10::Storage held = (is_weight ? old_weights_ : old_constants_).at(name).to_tensor().storage();
    c10::Storage copy(c10::Storage::use_byte_size_t(), held.nbytes(), c10::GetCPUAllocator(), /*resizable=*/false);
    if (held.nbytes() > 0) std::memcpy(copy.mutable_data(), held.data(), held.nbytes());
    return copy;
  }
  const ZipRecord* const record = find(folder + stored.record);
  if (record == nullptr)
    throw UsageError(bytes_.name, ": the file ", folder, stored.record, " with '", name,
                     "' is missing; save the program again by torch.export.save");
  check_size(*record, stored.record, is_weight ? weights_ : constants_);
  return storage_of(*record);
}

at::Tensor ProgramArchive::tensor(const std::string& name, const std::map<std::string, StoredTensor>& config,
                                  const std::string& folder) const {
  const auto found = config.find(name);
  if (found == config.end())
    throw UsageError(bytes_.name, ": has no tensor for '", name, "'; save the program again by torch.export.save");
  const StoredTensor& stored = found->second;
  try {
    const c10::Storage storage = storage_of(stored, name, folder);
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

bool ProgramArchive::holds(const std::string& name, const at::Tensor& tensor) const {
  const auto found = weights_.find(name);
  if (found == weights_.end() || found->second.meta.dtype != tensor.scalar_type()) return false;
  const StoredTensor& stored = found->second;
  const at::Tensor held = tensor.detach().cpu();
  const ZipRecord* record = find(kWeightsFolder + stored.record);
  const bool is_plain = record != nullptr && record->method == zip::kStored && held.is_contiguous() &&
                        stored.meta.storage_offset == 0 && record->bytes == held.nbytes() &&
                        numbers_of(stored.meta.sizes, name) == held.sizes().vec() &&
                        numbers_of(stored.meta.strides, name) == held.strides().vec();
  if (!is_plain) return weight(name).equal(held);
  if (held.numel() == 0) return true;
  const auto first = static_cast<uint64_t>(zip_.stored(*record).data() - bytes_.data);
  return file_has_bytes(bytes_.name, first, {static_cast<const char*>(held.const_data_ptr()), held.nbytes()});
}

void ProgramArchive::save(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& weights,
                          const std::string& json) const {
  const c10::NoGradGuard no_grad;
  if (is_old()) {
    old_files::Contents contents{.program = json, .weights = old_weights_};
    for (const auto& [name, tensor] : weights) contents.weights[name] = tensor;
    for (const auto& [name, stored] : weights_)
      if (stored.is_parameter) contents.parameters.insert(name);
    contents.constants = text_of(*find(old_files::kConstants));
    if (const ZipRecord* const example = find(old_files::kExample)) contents.example = text_of(*example);
    return old_files::write(path, contents);
  }
  std::map<std::string, std::string> weight_of;  // by record
  for (const auto& [name, tensor] : weights)
    weight_of.emplace(folder_ + kWeightsFolder + weights_.at(name).record, name);
  AtomicFile file(path);
  // The folder is a part of each name: the writer puts one before them all.
  ZipWriter writer(folder_.empty() ? "program" : folder_.substr(0, folder_.size() - 1),
                   [&](const void* data, size_t bytes) { file.write(data, bytes); });
  for (const ZipRecord& record : zip_.records()) {
    const std::string name(record.name.substr(folder_.size()));
    const auto found = weight_of.find(std::string(record.name));
    if (name == kModelRecord) {
      writer.add(name, json);
      continue;
    }
    const c10::Storage storage = storage_of(record);
    if (found != weight_of.end())
      view_of(storage, weights_.at(found->second).meta, found->second).copy_(weights.at(found->second));
    writer.add(name, bytes_of(storage));
  }
  writer.finish();
  file.commit();
}

}  // namespace levin::program
