#include <levin/callbacks/on_exception_checkpoint.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>

#include <filesystem>

namespace levin {

OnExceptionCheckpoint::OnExceptionCheckpoint(OnExceptionCheckpointOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "OnExceptionCheckpoint");
  if (options_.filename.empty()) throw UsageError("OnExceptionCheckpoint.filename: expected a name, got \"\"");
}

void OnExceptionCheckpoint::on_exception(Run& run, const std::exception& /*error*/) {
  if (!run.fitting()) return;
  const bool is_uploading = is_on_server(options_.dirpath);
  const bool is_own = options_.dirpath.empty() || is_uploading;
  const std::filesystem::path folder = is_own ? run.checkpoint_folder() : std::filesystem::path(options_.dirpath);
  run.save_checkpoint(std::filesystem::absolute(folder) / (options_.filename + ".ckpt"),
                      {.upload_to = is_uploading ? options_.dirpath : ""});
}

}  // namespace levin
