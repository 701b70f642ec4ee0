#include <levin/trainer/checkpoint/upload_checkpoint.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/remote_object.h>
#include <levin/data/remote/upload.h>

#include <algorithm>

namespace levin {
namespace {

namespace fs = std::filesystem;

std::string url_in(const std::string& folder, const std::string& name) {
  return folder + (folder.ends_with('/') ? "" : "/") + name;
}

}  // namespace

void upload_checkpoint(const fs::path& file, const std::string& folder, const std::string& save) {
  const std::string name = file.filename().string();
  std::vector<std::string> kept;
  for (const CheckpointPart& part : parts_beside(file)) {
    if (part.save != save) continue;
    kept.push_back(url_in(folder, part.file.filename().string()));
    upload_file(part.file, kept.back());
  }
  upload_file(file, url_in(folder, name));
  if (save.empty()) return;
  std::vector<std::string> older;
  for (const RemoteObject& object : list_remote_objects(url_in(folder, name + ".rank-"), /*ends_on_signal=*/false))
    if (std::ranges::find(kept, object.url) == kept.end())
      older.push_back(object.url.substr(url_in(folder, "").size()));
  remove_uploaded(folder, older);
}

std::vector<std::string> names_of_checkpoint(const fs::path& file) {
  std::vector<std::string> names = {file.filename().string()};
  for (const CheckpointPart& part : parts_beside(file)) names.push_back(part.file.filename().string());
  return names;
}

void remove_uploaded(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    try {
      remove_remote_object(url_in(folder, name));
    } catch (const Error& error) {
      console::warn(c10::str("an older checkpoint stays: ", error.what()));
    }
  }
}

}  // namespace levin
