#include <levin/program/commands/token_parts.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/files/npy_header.h>

#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <vector>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

/// Makes the folder of the parts and returns its lock.
std::unique_ptr<data::FileLock> locked_folder(const fs::path& folder, const fs::path& out) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (!fs::is_directory(folder))
    throw UsageError(folder.string(), ": the folder for parts of ", out.string(),
                     " cannot be made: ", error ? error.message() : "there is a file of that name");
  return std::make_unique<data::FileLock>(folder / "lock", "makes the tokens of " + out.string());
}

template <class T>
void write_ids(const fs::path& file, std::span<const int32_t> tokens) {
  std::vector<T> ids;
  ids.reserve(tokens.size());
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) > std::numeric_limits<T>::max())
      throw UsageError("the token ", token, " does not fit ", 8 * sizeof(T), " bits; give --dtype uint32");
    ids.push_back(static_cast<T>(token));
  }
  AtomicFile part(file);
  part.write(ids.data(), ids.size() * sizeof(T));
  part.commit();
}

}  // namespace

TokenParts::TokenParts(fs::path out, at::ScalarType dtype, const std::string& plan)
    : out_(std::move(out)), folder_(out_.string() + ".parts"), dtype_(dtype), lock_(locked_folder(folder_, out_)) {
  const fs::path plan_file = folder_ / "plan.json";
  std::string earlier;
  const bool has_plan = read_file(plan_file, earlier) == 0;
  if (has_plan && earlier == plan) return;
  if (!has_plan) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      if (entry.path().filename() != "lock" && !entry.path().filename().string().starts_with('.'))
        throw UsageError(folder_.string(), ": holds files that are no parts of ", out_.string(), "; move them away");
  }
  remove_parts();
  write_text_file_atomically(plan_file, plan);
}

void TokenParts::remove_parts() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    if (entry.path().filename() != "lock") fs::remove(entry.path(), ignored);
}

fs::path TokenParts::part_file(int64_t stretch, int64_t part) const {
  return folder_ / (std::to_string(stretch) + "-" + std::to_string(part) + ".bin");
}

fs::path TokenParts::count_file(int64_t stretch) const { return folder_ / (std::to_string(stretch) + ".count"); }

std::optional<int64_t> TokenParts::finished(int64_t stretch) const {
  std::string text;
  int64_t parts = 0;
  if (read_file(count_file(stretch), text) != 0) return {};
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), parts);
  if (code != std::errc() || stop != text.data() + text.size() || parts < 0) return {};
  return parts;
}

bool TokenParts::has(int64_t stretch, int64_t part) const {
  std::error_code ignored;
  return fs::is_regular_file(part_file(stretch, part), ignored);
}

void TokenParts::write(int64_t stretch, int64_t part, std::span<const int32_t> tokens) const {
  if (dtype_ == at::kUInt16)
    write_ids<uint16_t>(part_file(stretch, part), tokens);
  else
    write_ids<uint32_t>(part_file(stretch, part), tokens);
}

void TokenParts::finish(int64_t stretch, int64_t parts) const {
  write_text_file_atomically(count_file(stretch), std::to_string(parts));
}

int64_t TokenParts::join(int64_t stretches) {
  std::vector<fs::path> parts;
  uint64_t bytes = 0;
  for (int64_t stretch = 0; stretch < stretches; ++stretch) {
    for (int64_t part = 0; part < finished(stretch).value_or(0); ++part) {
      parts.push_back(part_file(stretch, part));
      bytes += fs::file_size(parts.back());
    }
  }
  const auto tokens = static_cast<int64_t>(bytes / c10::elementSize(dtype_));
  AtomicFile file(followed(out_));
  if (out_.extension() == ".npy") {
    const std::string header = data::npy_header(dtype_, {tokens});
    file.write(header.data(), header.size());
  }
  for (const fs::path& part : parts) {
    const FileBytes whole = map_file_bytes(part);
    file.write(whole.data, whole.size);
  }
  file.commit();
  remove_parts();
  lock_->remove();
  lock_ = nullptr;
  std::error_code ignored;
  fs::remove(folder_, ignored);
  return tokens;
}

}  // namespace levin::cli
