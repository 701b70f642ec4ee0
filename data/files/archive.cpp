#include <levin/data/files/archive.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/files/archive_reader.h>

#include <random>
#include <string>
#include <system_error>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

/// A path beside `folder` with a unique name, removed with the object.
class TemporaryNeighbour {
 public:
  explicit TemporaryNeighbour(const fs::path& folder) : path_(folder) {
    // A random number instead of the process id: another machine may share the disk.
    path_ += "." + std::to_string(std::random_device()()) + ".tmp";
  }
  ~TemporaryNeighbour() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryNeighbour(const TemporaryNeighbour&) = delete;
  TemporaryNeighbour& operator=(const TemporaryNeighbour&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Returns the member's path without its first folders; empty if nothing is left.
fs::path inside(const fs::path& archive, const std::string& name, int64_t strip_components) {
  const fs::path whole(name);
  fs::path rest;
  for (const fs::path& part : whole) {
    if (part == ".." || part.is_absolute())
      throw UsageError(archive.string(), ": the name ", name, " leads out of the folder; the archive is not unpacked");
    if (part.empty() || part == ".") continue;
    if (strip_components-- <= 0) rest /= part;
  }
  return rest;
}

void replace_folder(const fs::path& from, const fs::path& to) {
  const TemporaryNeighbour old(to);
  std::error_code error;
  fs::rename(to, old.path(), error);
  error.clear();
  fs::rename(from, to, error);
  if (!error) return;
  std::error_code ignored;
  fs::rename(old.path(), to, ignored);
  throw Error(to.string(), ": cannot be written: ", error.message());
}

}  // namespace

void unpack_archive(const fs::path& archive, const fs::path& folder, int64_t strip_components) {
  const fs::path target = folder.has_filename() ? folder : folder.parent_path();
  const TemporaryNeighbour made(target);
  const auto make_folders = [](const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw UsageError(path.string(), ": cannot be written: ", error.message());
  };
  make_folders(made.path());
  ArchiveReader reader(map_file(archive, FileAccess::Sequential), ArchiveReader::Format::Tar);
  while (reader.next()) {
    const fs::path name = inside(archive, reader.name(), strip_components);
    if (name.empty()) continue;
    const fs::path path = made.path() / name;
    make_folders(path.parent_path());
    const at::Tensor bytes = reader.read();
    AtomicFile file(path);
    file.write(bytes.const_data_ptr(), static_cast<size_t>(bytes.numel()));
    file.commit();
  }
  replace_folder(made.path(), target);
}

}  // namespace levin::data
