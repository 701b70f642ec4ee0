#include <levin/core/state/state_file.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/format/pickle_to_state.h>
#include <levin/core/state/format/state_to_pickle.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/sharded_file.h>
#include <levin/core/state/state_archive.h>
#include <levin/core/system/error.h>

#include <bit>
#include <new>
#include <string_view>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "state files are written in little-endian order");

/// Returns the value under `key` of a dict; null if there is none.
const PickleNode* find_item(const PickleNode& root, const std::string& key, const PickleAccess& access) {
  const bool is_dict = root.is(PickleNode::Kind::kDict) || access.callable(root) == "collections.OrderedDict";
  if (!is_dict || key.empty()) return nullptr;
  for (size_t i = 0; i + 1 < root.pairs.size(); i += 2)
    if (root.pairs[i]->is(PickleNode::Kind::kText) && root.pairs[i]->text == key) return root.pairs[i + 1];
  return nullptr;
}

/// Calls `find(root, access)` for the pickle of a file; returns the value of the node that it finds, or none for null.
template <class Find>
State load_found(const FileBytes& file, bool verify_checksums, const Find& find) try {
  StateArchive archive(file, verify_checksums);
  const PickleGraph graph = read_pickle(archive.pickle(), file.name);
  const PickleAccess access(file.name);
  const StorageLoader load_storage = [&](const std::string& name, size_t bytes, at::ScalarType type) {
    return archive.storage(name, bytes, type);
  };
  const PickleNode* const part = find(*graph.root, access);
  State state = part == nullptr ? State() : pickle_to_state(*part, access, load_storage, archive.pickle().size());
  archive.finish();
  return state;
} catch (const c10::Error& error) {
  throw UsageError(file.name, ": damaged, or not a PyTorch file: ", error.what_without_backtrace());
} catch (const std::bad_alloc&) {
  throw UsageError(file.name, ": needs more memory than there is");
}

/// Writes the records in torch.save's order; stops with the storages once `keep_on` returns false.
template <class KeepOn>
void write_archive(const PickledState& pickled, ZipWriter::Sink sink, const KeepOn& keep_on) {
  ZipWriter writer("archive", std::move(sink));
  writer.add("data.pkl", pickled.pickle);
  writer.add(".format_version", "1");
  writer.add(".storage_alignment", "64");
  writer.add("byteorder", "little");
  for (size_t i = 0; i < pickled.storages.size() && keep_on(); ++i) {
    const at::Tensor storage = pickled.storages[i].cpu();
    const char* data = storage.numel() > 0 ? static_cast<const char*>(storage.const_data_ptr()) : "";
    writer.add("data/" + std::to_string(i), {data, storage.nbytes()});
  }
  writer.add("version", "3\n");
  writer.add(".data/serialization_id", writer.fingerprint());
  writer.finish();
}

}  // namespace

void save_state(const State& state, const fs::path& path) { save_pickled_state(state_to_pickle(state), path); }

void save_state(const State& state, const fs::path& path, const State& attributes) {
  save_pickled_state(state_to_pickle(state, {.attributes = attributes}), path);
}

void save_pickled_state(const PickledState& pickled, const fs::path& path) try {
  AtomicFile file(path);
  write_archive(
      pickled, [&](const void* data, size_t bytes) { file.write(data, bytes); }, [&] { return !file.has_failed(); });
  file.commit();
} catch (const c10::Error& error) {
  throw Error(path.string(), ": writing failed: ", error.what_without_backtrace());
}

std::string save_state_bytes(const State& state, const PickleOptions& options) {
  std::string bytes;
  const auto append = [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); };
  write_archive(state_to_pickle(state, options), append, [] { return true; });
  return bytes;
}

State load_state(const fs::path& path, const LoadStateOptions& options) {
  State state = load_state_bytes(map_file_bytes(path), options);
  join_parts(state, path, options);
  return state;
}

State load_state(const fs::path& path, const std::string& key) {
  return load_state(path, LoadStateOptions{.key = key});
}

State load_state_bytes(const FileBytes& file, const LoadStateOptions& options) {
  return load_found(file, options.verify_checksums, [&](const PickleNode& root, const PickleAccess& access) {
    const PickleNode* const item = find_item(root, options.key, access);
    return item != nullptr ? item : &root;
  });
}

State load_entry(const fs::path& path, const std::string& key) {
  return load_found(map_file_bytes(path), /*verify_checksums=*/true,
                    [&](const PickleNode& root, const PickleAccess& access) {
                      const PickleNode* const item = find_item(root, key, access);
                      const PickleNode* const attributes = root.state;
                      if (item != nullptr || attributes == nullptr) return item;
                      return find_item(*attributes, key, access);
                    });
}

}  // namespace levin
