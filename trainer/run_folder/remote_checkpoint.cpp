#include <levin/trainer/run_folder/remote_checkpoint.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/sharded_file.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_object.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace levin {
namespace {

/// Returns a text by whose order "step=9" comes before "step=10": many files are written in the second that servers
/// tell.
std::string with_padded_numbers(const std::string& text) {
  constexpr size_t kDigits = 20;
  std::string padded;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find_first_not_of("0123456789", i), text.size());
    if (end > i) padded.append(kDigits > end - i ? kDigits - (end - i) : 0, '0').append(text, i, end - i);
    if (end < text.size()) padded += text[end];
    i = end + 1;
  }
  return padded;
}

}  // namespace

bool names_file(const std::string& url) {
  constexpr std::array<const char*, 4> kEndings = {".ckpt", ".pt", ".pth", ".safetensors"};
  const std::string path = url.substr(0, url.find('?'));
  return std::ranges::any_of(kEndings, [&](const char* ending) { return path.ends_with(ending); });
}

std::string remote_checkpoint(const std::string& url) {
  if (names_file(url)) return url;
  std::vector<RemoteObject> found = list_remote_objects(url.ends_with('/') ? url : url + "/");
  std::erase_if(found, [](const RemoteObject& object) { return !object.url.ends_with(".ckpt"); });
  if (found.empty()) throw UsageError("ckpt_path: there is no checkpoint in the folder ", url);
  return std::ranges::max_element(found,
                                  [](const RemoteObject& a, const RemoteObject& b) {
                                    if (a.modified != b.modified) return a.modified < b.modified;
                                    return with_padded_numbers(a.url) < with_padded_numbers(b.url);
                                  })
      ->url;
}

std::filesystem::path local_checkpoint(const std::filesystem::path& path) {
  const std::string& url = path.native();
  const std::filesystem::path file = local_path(url);
  if (!is_on_server(url)) return file;
  if (const std::optional<ShardedIndex> index = read_sharded_index(file))
    for (int64_t rank = 0; rank < index->ranks; ++rank) {
      const std::filesystem::path part = part_file(file, index->save, rank, index->ranks);
      const std::string name = part.filename().string().substr(file.filename().string().size());
      if (!std::filesystem::exists(part)) fetch_remote_object(find_remote_object(url + name), part);
    }
  return file;
}

}  // namespace levin
