// Sharded checkpoints without processes: what is divided is whole again when it is read, and nothing that was not
// committed is taken for a checkpoint.
#include <levin/trainer/checkpoint/sharded_save.h>
#include <ATen/Functions.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/sharding/watched_memory.h>
#include <levin/trainer/checkpoint/checkpoint_saver.h>
#include <levin/trainer/checkpoint/lazy_tensor.h>
#include <levin/trainer/checkpoint/save_sharded_state.h>

#include <cerrno>
#include <cstring>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/thread_comm.h"

namespace fs = std::filesystem;
using levin::State;

namespace {

at::Tensor numbers(int64_t count) { return at::arange(count, at::kDouble); }

/// Rank r's slice of `count` numbers that the ranks share.
State slice_of(int64_t count, const levin::Comm& comm) {
  const at::Tensor whole = numbers(count);
  const int64_t each = count / comm.world_size();
  return levin::tensor_slice(whole, comm.rank() * each, whole.narrow(0, comm.rank() * each, each));
}

/// A run whose checkpoint holds `count` numbers that its ranks share.
struct Numbers final : levin::CheckpointSource {
  Numbers(int64_t count_, const levin::Comm& comm_, fs::path folder_)
      : count(count_), comm(comm_), folder(std::move(folder_)) {}
  levin::CheckpointContents contents(bool) override {
    return {State::dict({{"value", levin::shard_mark("v")}, {"epoch", count}}),
            State::dict({{"v", slice_of(count, comm)}})};
  }
  void before_save(const fs::path&) override {}
  fs::path run_folder() const override { return folder; }
  int64_t count;
  const levin::Comm& comm;
  fs::path folder;
};

/// Saves `count` numbers from two ranks, each of which calls `body` with its request.
struct TwoRanks {
  explicit TwoRanks(int64_t count = 10) : count_(count) {}

  void save(const fs::path& file, const levin::SaveCheckpointOptions& how = {}, double timeout = 20) const {
    levin::run_ranks(2, [&](levin::Comm& comm) {
      Numbers numbers(count_, comm, file.parent_path());
      levin::CheckpointSaver saver(
          numbers, {.comm = comm, .timeout = std::chrono::milliseconds(static_cast<int64_t>(1000 * timeout))});
      saver.request({file, how});
      saver.save();
      saver.finish();
    });
  }

 private:
  int64_t count_;
};

int64_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

bool holds(const fs::path& file, int64_t count) {
  const State saved = levin::load_state(file);
  return at::equal(saved.at("value").to_tensor(), numbers(count)) && saved.at("epoch").to_int() == count &&
         saved.size() == 2;
}

std::atomic<int> writes_left = -1;

/// Every rank's thread writes; the disk is full at one of the writes.
int fill_up(const char* stage) {
  if (std::strcmp(stage, "write") != 0 || writes_left < 0) return 0;
  return --writes_left < 0 ? ENOSPC : 0;
}

}  // namespace

TEST_CASE("a state that is saved in parts is read as one that was saved in one file") {
  const TemporaryFolder folder;
  const at::Tensor weight = at::randn({6, 5}, at::kDouble), turned = at::randn({4, 3}, at::kDouble).t();
  const State state = State::dict(
      {{"epoch", 3},
       {"state_dict", State::dict({{"weight", weight},
                                   {"turned", turned},
                                   {"images", at::randn({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast)},
                                   {"number", at::scalar_tensor(7)},
                                   {"none", at::zeros({0, 3})},
                                   {"every_other", at::arange(10).slice(0, 0, 10, 2)}})},
       {"optimizer_states",
        State::list({State::dict({{"state", State::dict({{0, State::dict({{"exp_avg", weight + 1}})},
                                                         {12, State::dict({{"exp_avg", turned + 1}})}})},
                                  {"param_groups", State::list()}})})}});
  levin::save_state(state, folder / "whole.ckpt");
  for (const int64_t ranks : {1, 3, 40}) {
    INFO(ranks);
    const fs::path file = folder / "parts.ckpt";
    levin::save_sharded_state(state, file, ranks);
    CHECK(levin::parts_beside(file).size() == static_cast<size_t>(ranks));
    const State found = levin::load_state(file);
    CHECK(found.size() == 3);
    for (const auto& [name, value] : state.at("state_dict").to_dict()) {
      INFO(levin::to_text(name));
      const at::Tensor& read = found.at("state_dict").at(name).to_tensor();
      CHECK(at::equal(read, value.to_tensor()));
      CHECK(read.is_contiguous(at::MemoryFormat::ChannelsLast) ==
            value.to_tensor().is_contiguous(at::MemoryFormat::ChannelsLast));
    }
    const State& moments = found.at("optimizer_states").items()[0].at("state");
    CHECK(at::equal(moments.at(0).at("exp_avg").to_tensor(), weight + 1));
    CHECK(at::equal(moments.at(12).at("exp_avg").to_tensor(), turned + 1));
    CHECK(at::equal(levin::load_state(file, "state_dict").at("weight").to_tensor(), weight));
    CHECK(levin::checkpoint_bytes(file) > levin::checkpoint_bytes(folder / "whole.ckpt"));
  }
  levin::remove_checkpoint(folder / "parts.ckpt");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a lazy tensor has memory only while an operation uses it") {
  const at::Tensor whole = numbers(12).view({3, 4});
  const at::Tensor lazy = levin::lazy_tensor(
      {.sizes = {3, 4}, .strides = {4, 1}, .slices = {numbers(12).narrow(0, 0, 5), numbers(12).narrow(0, 5, 7)}});
  CHECK(lazy.sizes() == whole.sizes());
  CHECK_THROWS(lazy.const_data_ptr<double>());
  {
    const levin::parallel::WatchScope watched;
    CHECK(at::equal(lazy, whole));
    CHECK(lazy.storage().data() == nullptr);
    const at::Tensor row = lazy.as_strided({4}, {1}, 4);  // a view keeps it
    CHECK(at::equal(row.to(at::kFloat), whole[1].to(at::kFloat)));
    at::Tensor copy = at::zeros({3, 4}, at::kDouble);
    copy.copy_(lazy);
    CHECK(at::equal(copy, whole));
    at::Tensor changed = lazy;
    changed.add_(1);
    CHECK(at::equal(lazy, whole + 1));
  }
}

TEST_CASE("ranks save a checkpoint in parts, under two names, and remove what it replaces with all parts") {
  const TemporaryFolder folder;
  const fs::path first = folder / "first.ckpt", second = folder / "second.ckpt", last = folder / "last.ckpt";
  TwoRanks(10).save(first, {.link_as = last});
  CHECK(holds(first, 10));
  CHECK(holds(last, 10));
  CHECK(files_in(folder.path()) == 6);
  TwoRanks(20).save(second, {.link_as = last, .then_remove = {first}});
  CHECK(holds(second, 20));
  CHECK(holds(last, 20));
  CHECK(files_in(folder.path()) == 6);
  // The same name again, in parts and in one file.
  TwoRanks(30).save(second);
  CHECK(holds(second, 30));
  CHECK(holds(last, 20));
  CHECK(files_in(folder.path()) == 6);
  levin::CheckpointWriter writer;
  writer.save(State::dict({{"value", numbers(5)}, {"epoch", 5}}), {.path = second, .link_as = last});
  writer.wait();
  CHECK(holds(second, 5));
  CHECK(holds(last, 5));
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("a part that cannot be written is an error of rank 0, and the checkpoint of that name stays as it was") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.ckpt";
  TwoRanks(10).save(file);
  levin::set_file_stage_hook(fill_up);
  int failed = 0;
  // Both parts and the index take some writes each.
  for (int writes = 0; writes < 400; writes += 7) {
    INFO(writes);
    writes_left = writes;
    const std::string error = error_text([&] { TwoRanks(20).save(file); });
    if (error == "no error") break;
    ++failed;
    CHECK(contains(error, "No space left on device"));
    CHECK(holds(file, 10));
    CHECK(files_in(folder.path()) == 3);
  }
  writes_left = -1;
  levin::set_file_stage_hook(nullptr);
  CHECK(failed > 2);
  CHECK(holds(file, 20));
}

TEST_CASE("rank 0 does not wait for a part longer than timeout_seconds") {
  const TemporaryFolder folder;
  const std::string error = error_text([&] {
    levin::run_ranks(2, [&](levin::Comm& comm) {
      const auto save =
          levin::ShardedSave::begin(folder / "a.ckpt", State::dict(), comm, std::chrono::milliseconds(50));
      if (comm.rank() == 0) save->write(levin::state_to_pickle(save->part(State::dict())));
    });
  });
  CHECK(contains(error, "rank 1 has not written its part of " + (folder / "a.ckpt").string()));
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("parts that a killed process left are removed by the next save, and those in use stay") {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.ckpt", gone = folder / "b.ckpt";
  TwoRanks(10).save(file);
  const fs::path of_gone = levin::part_file(gone, "0123456789ab", 1, 2),
                 stale = levin::part_file(file, "0123456789ab", 0, 4), of_other = folder / "notes.part";
  for (const fs::path& left : {of_gone, stale, of_other}) write_bytes(left, "left");
  levin::remove_leftover_parts(folder.path());
  CHECK_FALSE(fs::exists(of_gone));
  CHECK_FALSE(fs::exists(stale));
  CHECK(fs::exists(of_other));
  CHECK(holds(file, 10));
  // A process that is about to write the index keeps its parts.
  write_bytes(of_gone, "written");
  {
    const levin::AtomicFile index(gone);
    levin::remove_leftover_parts(folder.path());
    CHECK(fs::exists(of_gone));
  }
  levin::remove_leftover_parts(folder.path());
  CHECK_FALSE(fs::exists(of_gone));
}
