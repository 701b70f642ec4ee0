#include <levin/trainer/checkpoint/checkpoint_job.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/state_file.h>
#include <levin/trainer/checkpoint/sharded_save.h>
#include <levin/trainer/checkpoint/upload_checkpoint.h>

#include <string>

namespace levin {
namespace {

namespace fs = std::filesystem;

/// Gives a checkpoint a second name: each part first, then the file that makes it one.
void link_checkpoint(const fs::path& file, const fs::path& link, const std::string& save) {
  if (file == link) return;
  for (const CheckpointPart& part : parts_beside(file))
    if (part.save == save) link_atomically(part.file, part_file(link, part.save, part.rank, part.ranks));
  link_atomically(file, link);
  remove_parts(link, save);
}

}  // namespace

void write_checkpoint(const PickledState& state, const CheckpointJob& job) {
  std::string save;
  if (job.sharded) {
    if (!job.sharded->write(state)) return;
    save = job.sharded->id();
  } else {
    save_pickled_state(state, job.path);
  }
  remove_parts(job.path, save);
  if (!job.link_as.empty()) link_checkpoint(job.path, job.link_as, save);
  if (!job.upload_to.empty()) {
    upload_checkpoint(job.path, job.upload_to, save);
    if (!job.link_as.empty()) upload_checkpoint(job.link_as, job.upload_to, save);
  }
  for (const fs::path& old : job.then_remove) {
    if (old == job.path || file_stage("remove") != 0) continue;
    if (!job.upload_to.empty()) remove_uploaded(job.upload_to, names_of_checkpoint(old));
    remove_checkpoint(old);
  }
}

}  // namespace levin
