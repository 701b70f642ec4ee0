#include <levin/data/datasets/readers/image_files.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/bucket_listing.h>
#include <levin/data/remote/local_path.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

/// Deeper nesting is taken as a cycle of symbolic links.
constexpr int kMostLevels = 30;
constexpr const char* kKinds = ".jpg, .jpeg, .png, .tif, .tiff or .webp";

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

bool is_image(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kExtensions = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp"};
  std::string extension = path.extension().string();
  for (char& letter : extension) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

[[noreturn]] void throw_unreadable(const fs::path& folder, const std::error_code& error) {
  throw UsageError(folder.string(), ": the folder cannot be read: ", error.message());
}

/// Calls `take` with each entry of the folder, except hidden ones.
template <class Take>
void for_each_entry(const fs::path& folder, const Take& take) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error) throw_unreadable(folder, error);
  while (entry != fs::directory_iterator()) {
    if (!is_hidden(entry->path())) take(*entry);
    entry.increment(error);
    if (error) throw_unreadable(folder, error);
  }
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

void collect(const fs::path& folder, std::vector<std::string>& paths, int level = 1) {
  if (level > kMostLevels) {
    throw UsageError(folder.string(), ": more than ", kMostLevels, " folders in one another; does a link lead back?");
  }
  for_each_entry(folder, [&](const fs::directory_entry& entry) {
    if (is_folder(entry)) {
      collect(entry.path(), paths, level + 1);
    } else if (is_image(entry.path())) {
      paths.push_back(entry.path().string());
    }
  });
}

/// Returns the part of an object's URL behind that of the folder.
std::string_view rest_of(const RemoteObject& object, const std::string& folder) {
  return std::string_view(object.url).substr(folder.size() + (folder.ends_with('/') ? 0 : 1));
}

std::vector<std::string> subfolders_in_bucket(const std::string& folder) {
  std::vector<std::string> names;
  for (const RemoteObject& object : objects_below(folder)) {
    const std::string_view rest = rest_of(object, folder);
    const size_t slash = rest.find('/');
    if (slash == rest.npos || rest.starts_with('.')) continue;
    if (names.empty() || names.back() != rest.substr(0, slash)) names.emplace_back(rest.substr(0, slash));
  }
  return names;
}

/// Adds the images below a folder of a bucket, but for hidden ones.
void collect_in_bucket(const std::string& folder, std::vector<std::string>& paths) {
  for (const RemoteObject& object : objects_below(folder)) {
    const std::string_view rest = rest_of(object, folder);
    const bool is_hidden_below = rest.starts_with('.') || rest.find("/.") != rest.npos;
    if (!is_hidden_below && is_image(fs::path(rest))) paths.push_back(object.url);
  }
}

void collect_images(const fs::path& folder, std::vector<std::string>& paths) {
  if (is_on_server(folder))
    collect_in_bucket(folder.native(), paths);
  else
    collect(folder, paths);
}

}  // namespace

std::vector<std::string> subfolders(const fs::path& folder) {
  std::vector<std::string> names;
  if (is_on_server(folder)) {
    names = subfolders_in_bucket(folder.native());
  } else {
    for_each_entry(folder, [&](const fs::directory_entry& entry) {
      if (is_folder(entry)) names.push_back(entry.path().filename().string());
    });
  }
  std::ranges::sort(names);
  return names;
}

bool has_image_parts(const fs::path& root) {
  constexpr std::array<const char*, 4> parts = {"train", "val", "test", "predict"};
  const std::vector<std::string> names = subfolders(root);
  const auto has = [&](const char* name) { return std::ranges::count(names, name) > 0; };
  const bool only_parts = !names.empty() && std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::find(parts, name) != parts.end();
  });
  return only_parts || (has("train") && (has("val") || has("test") || has("predict")));
}

ImageFiles find_image_files(const fs::path& root, std::vector<std::string> classes) {
  const std::vector<std::string> folders = subfolders(root);
  if (folders.empty()) {
    throw UsageError(root.string(), ": no subfolders; an image folder has one for each class, with ", kKinds, " files");
  }
  ImageFiles files{.classes = classes.empty() ? folders : std::move(classes)};
  for (const std::string& folder : folders) {
    const auto found = std::ranges::find(files.classes, folder);
    if (found == files.classes.end()) {
      throw UsageError((root / folder).string(), ": no class of the training images is called '", folder, "'",
                       did_you_mean(folder, files.classes));
    }
    std::vector<std::string> paths;
    collect_images(root / folder, paths);
    if (paths.empty()) {
      throw UsageError((root / folder).string(), ": no ", kKinds, " file in this class; fill or remove the folder");
    }
    std::ranges::sort(paths);
    for (std::string& path : paths) files.items.push_back({std::move(path), found - files.classes.begin()});
  }
  return files;
}

std::vector<std::string> find_images(const fs::path& root) {
  std::vector<std::string> paths;
  collect_images(root, paths);
  if (paths.empty()) throw UsageError(root.string(), ": there is no ", kKinds, " file");
  std::ranges::sort(paths);
  return paths;
}

ImageFiles find_unlabelled_images(const fs::path& root, std::vector<std::string> classes) {
  std::vector<std::string> paths = find_images(root);
  ImageFiles files{.classes = std::move(classes)};
  for (std::string& path : paths) files.items.push_back({std::move(path), -1});
  return files;
}

}  // namespace levin::data
