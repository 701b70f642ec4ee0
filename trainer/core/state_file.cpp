#include <levin/trainer/core/state_file.h>
#include <levin/trainer/core/atomic_file.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/pickle_to_state.h>
#include <levin/trainer/core/state_to_pickle.h>

#include <caffe2/serialize/inline_container.h>

#include <bit>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <tuple>

namespace levin {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "state files are written in little-endian order");

/// The first bytes tell a zip file from what older or other programs write.
void check_format(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw UsageError(path.string(), ": there is no such file");
  if (fs::is_directory(path, ignored)) throw UsageError(path.string(), ": a file was expected, this is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(path.string(), ": cannot be opened; check its permissions");
  std::string magic(4, '\0');
  file.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  if (file.gcount() == 4 && magic == "PK\x03\x04") return;
  if (file.gcount() >= 2 && magic[0] == '\x80' && static_cast<uint8_t>(magic[1]) <= 5)
    throw UsageError(path.string(),
                     ": written in PyTorch's old format (before 1.6), or by pickle; load it in Python and "
                     "save it again with torch.save(obj, path)");
  throw UsageError(path.string(), ": not a PyTorch file; one written by torch.save or by levin was expected");
}

/// The records of one file of torch.save.
class Archive {
 public:
  explicit Archive(const fs::path& path) : path_(path.string()), file_bytes_(fs::file_size(path)), reader_(path_) {
    if (reader_.hasRecord("constants.pkl"))
      throw UsageError(path_,
                       ": a TorchScript file (torch.jit.save's, or C++ torch::save's); a state dict saved by "
                       "Python's torch.save or by levin was expected");
    if (!reader_.hasRecord("data.pkl")) throw UsageError(path_, ": not a PyTorch file, it has no data.pkl");
    if (reader_.hasRecord("byteorder") && read_text("byteorder") != "little")
      throw UsageError(path_, ": written on a big-endian machine; load and save it again on a little-endian one");
  }

  std::string read_text(const std::string& record) {
    const auto [data, bytes] = read(record);
    return std::string(static_cast<const char*>(data.get()), bytes);
  }

  c10::Storage storage(const std::string& key, size_t bytes) {
    if (const auto found = storages_.find(key); found != storages_.end()) return checked(found->second, key, bytes);
    const std::string record = "data/" + key;
    if (bytes > 0 && !reader_.hasRecord(record))
      throw UsageError(path_, ": damaged, it lacks the tensor data ", record);
    auto [data, size] = bytes > 0 ? read(record) : std::tuple<at::DataPtr, size_t>();
    const c10::Storage storage(c10::Storage::use_byte_size_t(), size, std::move(data));
    return checked(storages_.emplace(key, storage).first->second, key, bytes);
  }

 private:
  std::tuple<at::DataPtr, size_t> read(const std::string& record) {
    // Deflate never packs more than 1032 to 1; a larger size in a damaged file would ask for any amount of memory.
    constexpr size_t kMaxRatio = 1032;
    const size_t bytes = reader_.getRecordSize(record);
    if (bytes / kMaxRatio > file_bytes_) throw UsageError(path_, ": damaged, ", record, " claims ", bytes, " bytes");
    return reader_.getRecord(record);
  }

  const c10::Storage& checked(const c10::Storage& storage, const std::string& key, size_t bytes) const {
    if (storage.nbytes() < bytes)
      throw UsageError(path_, ": damaged, data/", key, " has ", storage.nbytes(), " bytes, its tensors need ", bytes);
    return storage;
  }

  std::string path_;
  size_t file_bytes_;
  caffe2::serialize::PyTorchStreamReader reader_;
  std::map<std::string, c10::Storage> storages_;
};

/// The value under `key` of a dict, or `root` itself where there is none.
const PickleNode& find_part(const PickleNode& root, const std::string& key, const PickleAccess& access) {
  const bool is_dict = root.is(PickleNode::Kind::kDict) || access.callable(root) == "collections.OrderedDict";
  if (!is_dict || key.empty()) return root;
  for (size_t i = 0; i + 1 < root.pairs.size(); i += 2)
    if (root.pairs[i]->is(PickleNode::Kind::kText) && root.pairs[i]->text == key) return *root.pairs[i + 1];
  return root;
}

}  // namespace

void save_state(const State& state, const fs::path& path) { save_pickled_state(state_to_pickle(state), path); }

void save_pickled_state(const PickledState& pickled, const fs::path& path) try {
  AtomicFile file(path);
  {
    // A short count here would make the zip writer throw, and again in its destructor; the file keeps its own error.
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, size_t bytes) {
      file.write(data, bytes);
      return bytes;
    });
    writer.writeRecord("data.pkl", pickled.pickle.data(), pickled.pickle.size());
    writer.writeRecord(".format_version", "1", 1);
    writer.writeRecord(".storage_alignment", "64", 2);
    writer.writeRecord("byteorder", "little", 6);
    for (size_t i = 0; i < pickled.storages.size() && !file.has_failed(); ++i) {
      const at::Tensor storage = pickled.storages[i].cpu();
      const void* data = storage.numel() > 0 ? storage.const_data_ptr() : "";
      writer.writeRecord("data/" + std::to_string(i), data, storage.nbytes());
    }
    writer.writeEndOfFile();
  }
  file.commit();
} catch (const c10::Error& error) {
  throw Error(path.string(), ": writing failed: ", error.what_without_backtrace());
}

State load_state(const fs::path& path) { return load_state(path, ""); }

State load_state(const fs::path& path, const std::string& key) try {
  check_format(path);
  Archive archive(path);
  const std::string pickle = archive.read_text("data.pkl");
  const PickleGraph graph = read_pickle(pickle, path.string());
  const PickleAccess access(path.string());
  const StorageLoader load_storage = [&](const std::string& name, size_t bytes) {
    return archive.storage(name, bytes);
  };
  return pickle_to_state(find_part(*graph.root, key, access), access, load_storage, pickle.size());
} catch (const c10::Error& error) {
  throw UsageError(path.string(), ": damaged, or not a PyTorch file: ", error.what_without_backtrace());
} catch (const std::bad_alloc&) {
  throw UsageError(path.string(), ": needs more memory than there is");
}

}  // namespace levin
