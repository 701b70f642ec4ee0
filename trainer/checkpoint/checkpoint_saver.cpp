#include <levin/trainer/checkpoint/checkpoint_saver.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/trainer/checkpoint/sharded_save.h>

#include <string>
#include <utility>

namespace levin {

void CheckpointSaver::share_requests() {
  if (options_.comm.processes() == 1) return;
  const c10::InferenceMode normal_mode(false);
  if (largest_count(static_cast<int64_t>(requests_.size()), options_.comm) > 0)
    requests_ = requests_of_all_ranks(requests_, options_.comm);
}

void CheckpointSaver::save() {
  // A save may come inside a validation, but tensors that hooks and the writer make must not be inference tensors.
  const c10::InferenceMode normal_mode(false);
  const at::NoGradGuard no_grad;
  if (writer_.has_failed()) finish();
  for (const SaveRequest& request : std::exchange(requests_, {})) {
    const ProfileSpan span(options_.profiler, Action::SaveCheckpoint);
    CheckpointContents saved = measured(options_.profiler, Action::CheckpointContents,
                                        [&] { return source_.contents(request.how.weights_only); });
    if (!options_.comm.is_global_zero() && !saved.shards) continue;
    finish();
    try {
      save(request, std::move(saved));
    } catch (const std::filesystem::filesystem_error& error) {
      report(UsageError(request.path.string(), ": cannot be written: ", error.code().message()));
    } catch (const LostRankError&) {
      throw;
    } catch (const UsageError& error) {
      report(error);
    }
  }
}

void CheckpointSaver::save(const SaveRequest& request, CheckpointContents contents) {
  const bool is_first = options_.comm.rank() == 0;
  CheckpointJob job{.path = request.path,
                    .link_as = request.how.link_as,
                    .then_remove = request.how.then_remove,
                    .upload_to = request.how.upload_to};
  if (!contents.shards) {
    std::filesystem::create_directories(request.path.parent_path());
  } else {
    job.sharded = ShardedSave::begin(request.path, std::move(contents.tree), options_.comm, options_.timeout);
    if (!job.sharded) return;  // rank 0 reports why
    contents.tree = job.sharded->part(*std::move(contents.shards));
  }
  if (is_first && !request.how.weights_only) source_.before_save(request.path);
  const ProfileSpan copy(options_.profiler, Action::CheckpointCopy);
  writer_.save(contents.tree, std::move(job));
}

void CheckpointSaver::finish() {
  const ProfileSpan span(options_.profiler, Action::CheckpointWait);
  try {
    writer_.wait();
  } catch (const std::exception& error) {
    report(error);
  }
}

void CheckpointSaver::report(const std::exception& error) const {
  if (options_.errors_are_warnings)
    console::warn(std::string("a checkpoint was not saved: ") + error.what());
  else
    throw Error("a checkpoint was not saved: ", error.what(),
                "; free space or choose another folder, and continue with ckpt_path ", source_.run_folder().string(),
                " (--ckpt-path). With checkpoint_errors \"warn\" the training would continue");
}

}  // namespace levin
