#include <levin/program/guess/guess.h>
#include <levin/core/system/error.h>
#include <levin/data/files/mapped_file.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

enum class FileKind { Image, Table, Parquet, Hdf5, JsonLines, Array, Shard, Text, Foreign, Unknown };

constexpr const char* kReadable =
    "levin trains on images (.jpg, .png, .tif, .webp) in one folder for each class, with masks, in a CSV list or with "
    "boxes (COCO's .json), tables (.csv, .tsv, .parquet, .jsonl), arrays (.npy, .npz, .h5), tar files of samples "
    "(.tar, .tar.gz) and texts (.txt)";

/// What levin does not read, and how others make of it what it reads.
const std::map<std::string, const char*>& foreign() {
  static const std::map<std::string, const char*> advice = {
      {".feather", "make a CSV file of it: pandas.read_feather(\"x.feather\").to_csv(\"x.csv\", index=False)"},
      {".xlsx", "save it as CSV (UTF-8) in the program that made it"},
      {".xls", "save it as CSV (UTF-8) in the program that made it"},
      {".json", "make a CSV file of it: pandas.read_json(\"x.json\").to_csv(\"x.csv\", index=False)"},
      {".mat", "save its arrays as .npy: np.save(\"x.npy\", scipy.io.loadmat(\"x.mat\")[\"x\"])"},
      {".pt", "save its tensors as .npy: np.save(\"x.npy\", torch.load(\"x.pt\").numpy())"},
      {".pkl", "save its arrays as .npy: np.save(\"x.npy\", x)"},
      {".zip", "unpack it, and name the folder"},
      {".7z", "unpack it, and name the folder"},
      {".gz", "unpack it: gunzip"},
      {".mp4", "save its pictures as .jpg files in one folder for each class"},
      {".wav", "save its samples or spectra as .npy, with their classes beside them"},
      {".mp3", "save its samples or spectra as .npy, with their classes beside them"}};
  return advice;
}

FileKind kind_of(const fs::path& file) {
  static const std::map<std::string, FileKind> kinds = {
      {".jpg", FileKind::Image},       {".jpeg", FileKind::Image},       {".png", FileKind::Image},
      {".tif", FileKind::Image},       {".tiff", FileKind::Image},       {".webp", FileKind::Image},
      {".csv", FileKind::Table},       {".tsv", FileKind::Table},        {".data", FileKind::Table},
      {".npy", FileKind::Array},       {".npz", FileKind::Array},        {".tar", FileKind::Shard},
      {".tar.gz", FileKind::Shard},    {".tgz", FileKind::Shard},        {".txt", FileKind::Text},
      {".text", FileKind::Text},       {".md", FileKind::Text},          {".parquet", FileKind::Parquet},
      {".pq", FileKind::Parquet},      {".h5", FileKind::Hdf5},          {".hdf5", FileKind::Hdf5},
      {".jsonl", FileKind::JsonLines}, {".ndjson", FileKind::JsonLines}, {".jsonl.gz", FileKind::JsonLines}};
  const std::string extension = extension_of(file);
  if (const auto known = kinds.find(extension); known != kinds.end()) return known->second;
  return foreign().contains(extension) ? FileKind::Foreign : FileKind::Unknown;
}

/// Texts have no zero bytes.
bool is_text(const fs::path& file) {
  constexpr size_t kLooked = 65536;
  return data::MappedFile(file).text().substr(0, kLooked).find('\0') == std::string_view::npos;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& what, const std::string& advice) {
  throw UsageError("levin data guess: ", path.string(), ": ", what, "; ", advice);
}

[[noreturn]] void refuse_foreign(const fs::path& file) {
  const std::string extension = extension_of(file);
  refuse(file, "levin does not read " + extension, foreign().at(extension));
}

/// The data modules of tables that hold columns.
constexpr std::array<std::pair<FileKind, const char*>, 3> kColumnFormats = {
    {{FileKind::Parquet, "Parquet"}, {FileKind::Hdf5, "Hdf5"}, {FileKind::JsonLines, "JsonLines"}}};

/// The files of a folder by kind, without those below it.
class Contents {
 public:
  explicit Contents(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename().string().starts_with('.')) continue;
      std::error_code ignored;
      if (entry->is_directory(ignored)) {
        folders.push_back(entry->path());
      } else {
        files_[kind_of(entry->path())].push_back(entry->path());
        ++extensions_[extension_of(entry->path())];
      }
    }
    if (error) refuse(folder, "the folder cannot be read: " + error.message(), "check its permissions");
    std::ranges::sort(folders);
    for (auto& [kind, files] : files_) std::ranges::sort(files);
  }

  const Paths& files(FileKind kind) const {
    static const Paths none;
    const auto found = files_.find(kind);
    return found == files_.end() ? none : found->second;
  }
  bool has(FileKind kind) const { return files_.contains(kind); }
  bool empty() const { return files_.empty() && folders.empty(); }
  std::string extensions() const {
    return listed(std::vector<std::pair<std::string, int64_t>>(extensions_.begin(), extensions_.end()));
  }

  Paths folders = {};

 private:
  std::map<FileKind, Paths> files_ = {};
  std::map<std::string, int64_t> extensions_ = {};
};

bool has_images_below(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (kind_of(entry->path()) == FileKind::Image) return true;
  return false;
}

/// Returns the folder with the classes: `folder`, or the one inside of a folder that holds nothing else.
fs::path folder_of_classes(fs::path folder) {
  while (true) {
    Contents contents(folder);
    if (contents.folders.size() != 1 || contents.has(FileKind::Image)) return folder;
    Contents inner(contents.folders.front());
    if (inner.has(FileKind::Image) || inner.folders.empty()) return folder;
    const std::string name = contents.folders.front().filename().string();
    if (name == "train" || name == "val" || name == "test" || name == "predict") return folder;
    folder = contents.folders.front();
  }
}

Guess guess_folder(const fs::path& folder, const GuessOptions& options) {
  Contents contents(folder);
  if (contents.empty()) refuse(folder, "the folder is empty", std::string("put the data there; ") + kReadable);
  if (const Paths boxes = coco_files(folder); !boxes.empty()) return guess_boxes(boxes, options);
  if (const auto masks = mask_folders(folder)) return guess_masks(*masks, options);
  for (const fs::path& table : contents.files(FileKind::Table))
    if (is_image_list(table)) return guess_image_list(table, options);
  if (std::ranges::any_of(contents.folders, has_images_below)) {
    Guess found = guess_images(folder_of_classes(folder), options);
    if (contents.has(FileKind::Image))
      found.broken.push_back({counted(static_cast<int64_t>(contents.files(FileKind::Image).size()), "image") +
                                  " beside the folders of the classes, left out",
                              "move each into the folder of its class"});
    return found;
  }
  if (contents.has(FileKind::Image))
    refuse(folder, counted(static_cast<int64_t>(contents.files(FileKind::Image).size()), "image") + " without classes",
           "put the images of each class into a folder of its own (" + (folder / "cat/1.jpg").string() + ", " +
               (folder / "dog/2.jpg").string() + ")" +
               (contents.has(FileKind::Table)
                    ? ", as " + contents.files(FileKind::Table).front().filename().string() + " tells them"
                    : ""));
  if (contents.has(FileKind::Array)) return guess_arrays(contents.files(FileKind::Array), options);
  if (contents.has(FileKind::Shard)) return guess_shards(contents.files(FileKind::Shard), options);
  if (contents.has(FileKind::Table)) return guess_table(contents.files(FileKind::Table), options);
  for (const auto& [kind, format] : kColumnFormats)
    if (contents.has(kind)) return guess_columns(contents.files(kind), format, options);
  const Paths& texts = contents.files(FileKind::Text);
  if (texts.size() == 1) return guess_text(texts.front(), options);
  if (texts.size() > 1)
    refuse(folder, counted(static_cast<int64_t>(texts.size()), "text"),
           "a model learns from one file: cat " + (folder / "*.txt").string() + " > all.txt, and name that");
  if (contents.has(FileKind::Foreign)) {
    const fs::path& file = contents.files(FileKind::Foreign).front();
    refuse_foreign(file);
  }
  if (contents.folders.size() == 1 && contents.extensions().empty())
    return guess_folder(contents.folders.front(), options);
  refuse(folder, contents.extensions().empty() ? "folders, without an image in them" : "holds " + contents.extensions(),
         kReadable);
}

Guess guess_file(const fs::path& file, const GuessOptions& options) {
  if (is_coco_file(file)) return guess_boxes({file}, options);
  switch (kind_of(file)) {
    case FileKind::Image:
      refuse(file, "one image", "name the folder that has a subfolder for each class");
    case FileKind::Table:
      return is_image_list(file) ? guess_image_list(file, options) : guess_table({file}, options);
    case FileKind::Array: {
      // Its inputs or targets lie beside it.
      const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
      if (file.extension() == ".npz" || !options.target.empty()) return guess_arrays({file}, options);
      return guess_arrays(beside_array(file, Contents(folder).files(FileKind::Array)), options);
    }
    case FileKind::Shard:
      return guess_shards({file}, options);
    case FileKind::Parquet:
      return guess_columns({file}, "Parquet", options);
    case FileKind::Hdf5:
      return guess_columns({file}, "Hdf5", options);
    case FileKind::JsonLines:
      return guess_columns({file}, "JsonLines", options);
    case FileKind::Text:
      return guess_text(file, options);
    case FileKind::Foreign:
      refuse_foreign(file);
    case FileKind::Unknown:
      break;
  }
  if (is_text(file)) return guess_text(file, options);
  refuse(file, "neither a text nor a file of a known kind", kReadable);
}

}  // namespace

Guess guess(const fs::path& path, const GuessOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) refuse(path, "there is no such folder or file", "check the name");
  Guess found = fs::is_directory(status) ? guess_folder(path, options) : guess_file(path, options);
  if (!found.stops.empty()) found.config = {};
  return found;
}

}  // namespace levin::cli
