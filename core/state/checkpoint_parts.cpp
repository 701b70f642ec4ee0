#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/leftover_files.h>
#include <levin/core/state/sharded_file.h>
#include <levin/core/system/error.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kRank = ".rank-", kOf = "-of-", kPart = ".part";

fs::path folder_with(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Reads a number at the beginning of `text`, and removes it.
std::optional<int64_t> take_rank(std::string_view& text) {
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || number < 0) return {};
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  return number;
}

/// Returns the part that `file` is by its name, with the name of its index; nullopt for other files.
std::optional<std::pair<std::string, CheckpointPart>> part_named(const fs::path& file) {
  const std::string name = file.filename().string();
  const size_t begin = name.rfind(kRank);
  if (begin == std::string::npos || name.starts_with('.') || !name.ends_with(kPart)) return {};
  std::string_view rest = std::string_view(name).substr(begin + kRank.size());
  const std::optional<int64_t> rank = take_rank(rest);
  if (!rank || !rest.starts_with(kOf)) return {};
  rest.remove_prefix(kOf.size());
  const std::optional<int64_t> ranks = take_rank(rest);
  if (!ranks || !rest.starts_with('.') || rest.size() <= 1 + kPart.size()) return {};
  const std::string save(rest.substr(1, rest.size() - 1 - kPart.size()));
  return std::pair(name.substr(0, begin), CheckpointPart{.file = file, .rank = *rank, .ranks = *ranks, .save = save});
}

std::vector<std::pair<std::string, CheckpointPart>> parts_in(const fs::path& folder) {
  std::vector<std::pair<std::string, CheckpointPart>> parts;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (auto part = part_named(entry->path())) parts.push_back(std::move(*part));
  return parts;
}

/// Returns the save that an index names; empty if there is none, nullopt if the file cannot be read.
std::optional<std::string> save_of(const fs::path& index) {
  std::error_code error;
  if (!fs::exists(index, error)) return error ? std::nullopt : std::optional<std::string>("");
  try {
    const std::optional<ShardedIndex> named = read_sharded_index(index);
    return named ? named->save : "";
  } catch (const Error&) {
    return {};
  }
}

bool may_be_needed(const CheckpointPart& part, const fs::path& index) {
  std::error_code error;
  if (fs::hard_link_count(part.file, error) > 1) return true;
  if (has_temporary_file(index)) return true;
  const std::optional<std::string> named = save_of(index);
  return !named || *named == part.save;
}

}  // namespace

fs::path part_file(const fs::path& index, const std::string& save, int64_t rank, int64_t ranks) {
  const std::string name = index.filename().string() + std::string(kRank) + std::to_string(rank) + std::string(kOf) +
                           std::to_string(ranks) + "." + save + std::string(kPart);
  return index.parent_path() / name;
}

std::vector<CheckpointPart> parts_beside(const fs::path& index) {
  std::vector<CheckpointPart> parts;
  for (auto& [name, part] : parts_in(folder_with(index)))
    if (name == index.filename()) parts.push_back(std::move(part));
  return parts;
}

void remove_parts(const fs::path& index, const std::string& kept) {
  std::error_code ignored;  // another process may have removed it
  for (const CheckpointPart& part : parts_beside(index))
    if (part.save != kept) fs::remove(part.file, ignored);
}

void remove_checkpoint(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
  remove_parts(file);
}

uintmax_t checkpoint_bytes(const fs::path& file) {
  std::error_code error;
  uintmax_t bytes = fs::file_size(file, error);
  if (error) return 0;
  for (const CheckpointPart& part : parts_beside(file)) {
    const uintmax_t more = fs::file_size(part.file, error);
    if (!error) bytes += more;
  }
  return bytes;
}

void remove_leftover_parts(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& [name, part] : parts_in(folder))
    if (!may_be_needed(part, folder / name)) fs::remove(part.file, ignored);
}

void remove_leftover_parts_once(const fs::path& folder) {
  if (is_first_visit(folder, std::string(kPart) + "s without an index")) remove_leftover_parts(folder);
}

}  // namespace levin
