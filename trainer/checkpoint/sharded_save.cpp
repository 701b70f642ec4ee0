#include <levin/trainer/checkpoint/sharded_save.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/host_name.h>

#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};
/// A network mount may show a file of another machine late.
constexpr std::chrono::seconds kUntilVisible{10};
/// What a rank tells rank 0 when its part is written.
constexpr const char* kWritten = "written on ";

}  // namespace

ShardedSave::ShardedSave(fs::path path, ShardedIndex index, Comm& comm, std::chrono::milliseconds timeout)
    : path_(std::move(path)), index_(std::move(index)), comm_(comm), timeout_(timeout) {}

ShardedSave::~ShardedSave() = default;

std::shared_ptr<ShardedSave> ShardedSave::begin(const fs::path& path, State index, Comm& comm,
                                                std::chrono::milliseconds timeout) {
  std::shared_ptr<ShardedSave> save;
  std::exception_ptr error;
  if (comm.rank() == 0) try {
      const ShardedIndex named = new_sharded_index(comm.world_size());
      save.reset(new ShardedSave(path, named, comm, timeout));
      set_sharded_index(index, named);
      save->bytes_ = save_state_bytes(index);
      fs::create_directories(path.parent_path());
      save->file_.emplace(path);
      remove_leftover_parts_once(path.parent_path());
    } catch (...) {
      save.reset();
      error = std::current_exception();
    }
  const std::string id = broadcast_text(save ? save->id() : "", comm);
  if (error) std::rethrow_exception(error);
  if (comm.rank() != 0 && !id.empty())
    save.reset(new ShardedSave(path, {.save = id, .ranks = comm.world_size()}, comm, timeout));
  return save;
}

std::string ShardedSave::note_of(int64_t rank) const { return c10::str("part/", index_.save, "/", rank); }

bool ShardedSave::write(const PickledState& part) {
  if (comm_.rank() != 0) {
    std::string told = kWritten + host_name();
    try {
      write_own(part);
    } catch (const std::exception& error) {
      told = error.what();
    }
    comm_.leave_note(note_of(comm_.rank()), told);
    return false;
  }
  std::exception_ptr error;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  attempt([&] { write_own(part); });
  // After an error too: what the others write is removed below.
  const auto end = std::chrono::steady_clock::now() + timeout_;
  for (int64_t rank = 1; rank < index_.ranks; ++rank) attempt([&] { wait_for(rank, end); });
  if (!error)
    attempt([&] {
      file_->write(bytes_.data(), bytes_.size());
      file_->commit();
    });
  if (!error) return true;
  std::error_code ignored;
  for (const CheckpointPart& written : parts_beside(path_))
    if (written.save == index_.save) fs::remove(written.file, ignored);
  std::rethrow_exception(error);
}

void ShardedSave::write_own(const PickledState& part) {
  save_pickled_state(part, part_file(path_, index_.save, comm_.rank(), index_.ranks));
}

void ShardedSave::wait_for(int64_t rank, std::chrono::steady_clock::time_point end) {
  for (;;) {
    const std::optional<std::string> told = comm_.take_note(note_of(rank));
    if (told && !told->starts_with(kWritten))
      throw Error("rank ", rank, " could not write its part of ", path_.string(), ": ", *told,
                  "; the folder must be one that all ranks see, or set state_dict_type to full");
    if (told) return check_visible(rank, told->substr(std::string_view(kWritten).size()));
    if (is_cancelled_) throw Error(path_.string(), ": the run ended before rank ", rank, " had written its part");
    if (std::chrono::steady_clock::now() >= end)
      throw Error("rank ", rank, " has not written its part of ", path_.string(), " in ", timeout_.count() / 1000,
                  " seconds (timeout_seconds): it has ended, or hangs");
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void ShardedSave::check_visible(int64_t rank, const std::string& host) const {
  const fs::path file = part_file(path_, index_.save, rank, index_.ranks);
  const auto end = std::chrono::steady_clock::now() + kUntilVisible;
  std::error_code error;
  while (!fs::exists(file, error)) {
    if (is_cancelled_ || std::chrono::steady_clock::now() >= end)
      throw Error(file.string(), ": rank ", rank, " wrote it on ", host, ", and rank 0 on ", host_name(),
                  " does not see it: a sharded checkpoint needs a folder on a file system that all machines share; "
                  "choose one with default_root_dir or dirpath, or set state_dict_type to full");
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace levin
