#include <levin/trainer/profilers/profile_files.h>
#include <c10/util/StringUtil.h>
#include <levin/core/run/stage.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/console.h>
#include <levin/data/remote/output_place.h>

#include <exception>

namespace levin {

ProfileFiles::ProfileFiles(const ProfilerFileOptions& options, const Profiler::Output& output,
                           const std::string& profiler, std::string_view extension)
    : folder_(options.dirpath.empty() ? output.folder : std::filesystem::path(options.dirpath)) {
  require_local("trainer.profiler.dirpath", options.dirpath);
  if (folder_.empty()) return;
  beginning_ = options.filename.empty() ? c10::str(to_string(output.stage), "-", profiler) : options.filename;
  if (output.rank > 0) beginning_ += c10::str("-rank", output.rank);
  const std::string first = beginning_;
  std::error_code ignored;
  for (int session = 2; std::filesystem::exists(path(extension), ignored); ++session)
    beginning_ = c10::str(first, "-", session);
}

std::filesystem::path ProfileFiles::path(std::string_view ending) const {
  return folder_ / (beginning_ + std::string(ending));
}

void ProfileFiles::write(std::string_view ending, std::string_view text) {
  if (!*this) return;
  try {
    std::filesystem::create_directories(folder_);
    write_text_file_atomically(path(ending), text);
  } catch (const std::exception& error) {
    console::warn(c10::str("the profile ", path(ending).string(), " was not written: ", error.what()));
    beginning_.clear();
  }
}

}  // namespace levin
