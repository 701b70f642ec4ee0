#include <ATen/Functions.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/state_file.h>
#include <levin/trainer/checkpoint/checkpoint_writer.h>
#include <levin/trainer/run_folder/config_changes.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/run_folder/run_record.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/thread_comm.h"

namespace fs = std::filesystem;
using levin::CheckpointWriter;
using levin::State;

namespace {

std::atomic<const char*> failing_stage = nullptr;
std::atomic<int> stages = 0;

int fail_there(const char* stage) {
  ++stages;
  const char* failing = failing_stage;
  return failing != nullptr && std::strcmp(stage, failing) == 0 ? ENOSPC : 0;
}

/// A hook of file stages while it lives.
struct StageHook {
  StageHook() { levin::set_file_stage_hook(fail_there); }
  ~StageHook() {
    levin::set_file_stage_hook(nullptr);
    failing_stage = nullptr;
  }
};

State state_with(const at::Tensor& tensor) {
  return State::dict({{"value", tensor}, {"optimizer_states", State::list()}});
}

double value_in(const fs::path& file) { return levin::load_state(file).at("value").to_tensor()[0].item<double>(); }

}  // namespace

TEST_CASE("a checkpoint holds the state at the call, whatever changes while it is written") {
  const TemporaryFolder folder;
  CheckpointWriter writer;
  at::Tensor tensor = at::full({1 << 20}, 1.0);
  for (int i = 1; i <= 5; ++i) {
    tensor.fill_(i);
    writer.save(state_with(tensor), {.path = folder / (std::to_string(i) + ".ckpt")});
    tensor.fill_(-1);
  }
  writer.wait();
  for (int i = 1; i <= 5; ++i) {
    const at::Tensor saved = levin::load_state(folder / (std::to_string(i) + ".ckpt")).at("value").to_tensor();
    CHECK(at::equal(saved, at::full({1 << 20}, static_cast<double>(i))));
  }
}

TEST_CASE("shared memory, dtypes and empty tensors are copied as they are") {
  const TemporaryFolder folder;
  CheckpointWriter writer;
  const at::Tensor base = at::arange(12.).view({3, 4});
  const State state = State::dict({{"base", base},
                                   {"row", base[1]},
                                   {"half", at::ones({3}, at::kHalf)},
                                   {"bool", at::ones({2}, at::kBool)},
                                   {"complex", at::ones({2}, at::kComplexFloat)},
                                   {"empty", at::empty({0, 3})}});
  writer.save(state, {.path = folder / "x.ckpt"});
  writer.wait();
  const State read = levin::load_state(folder / "x.ckpt");
  for (const auto& [key, value] : state.to_dict()) {
    INFO(levin::to_text(key));
    CHECK(at::equal(read.at(key).to_tensor(), value.to_tensor()));
    CHECK(read.at(key).to_tensor().scalar_type() == value.to_tensor().scalar_type());
  }
  CHECK(read.at("row").to_tensor().storage().data() == read.at("base").to_tensor().storage().data());
}

TEST_CASE("last.ckpt is the newest, and old files go when the new one is whole") {
  const TemporaryFolder folder;
  CheckpointWriter writer;
  const fs::path first = folder / "1.ckpt", second = folder / "2.ckpt", last = folder / "last.ckpt";
  writer.save(state_with(at::full({4}, 1.0)), {.path = first, .link_as = last});
  writer.save(state_with(at::full({4}, 2.0)), {.path = second, .link_as = last, .then_remove = {first}});
  writer.wait();
  CHECK_FALSE(fs::exists(first));
  CHECK(value_in(last) == 2);
  // last.ckpt stays if its other name is removed.
  fs::remove(second);
  CHECK(value_in(last) == 2);
  // last.ckpt itself can be the path of a save.
  writer.save(state_with(at::full({4}, 3.0)), {.path = last});
  writer.wait();
  CHECK(value_in(last) == 3);
}

TEST_CASE("a folder that cannot be synced after the rename is an error") {
  const TemporaryFolder folder;
  const StageHook hook;
  failing_stage = "folder";
  CHECK(contains(error_text([&] { levin::write_text_file_atomically(folder / "x", "text"); }),
                 "was written, but its folder could not be synced: No space left on device"));
  failing_stage = nullptr;
}

TEST_CASE("a save that fails at any stage leaves the old file, and its error is thrown once") {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.ckpt", last = folder / "last.ckpt", old = folder / "old.ckpt";
  for (const char* stage : {"open", "write", "sync", "rename", "link"}) {
    INFO(stage);
    CheckpointWriter writer;
    writer.save(state_with(at::full({4}, 1.0)), {.path = file, .link_as = last});
    writer.save(state_with(at::full({4}, 1.0)), {.path = old});
    writer.wait();
    const StageHook hook;
    failing_stage = stage;
    writer.save(state_with(at::full({4}, 2.0)), {.path = file, .link_as = last, .then_remove = {old}});
    const std::string text = error_text([&] { writer.wait(); });
    CHECK(contains(text, "No space left on device"));
    CHECK_FALSE(writer.has_failed());
    CHECK_NOTHROW(writer.wait());
    failing_stage = nullptr;
    const bool whole = std::strcmp(stage, "link") == 0;
    CHECK(value_in(file) == (whole ? 2 : 1));
    CHECK(value_in(last) == 1);
    CHECK(value_in(old) == 1);
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++files;
    CHECK(files == 3);
    // The next save works.
    writer.save(state_with(at::full({4}, 3.0)), {.path = file, .link_as = last});
    writer.wait();
    CHECK(value_in(last) == 3);
  }
}

TEST_CASE("the newest whole checkpoint is found, and a damaged one skipped") {
  const TemporaryFolder folder;
  CHECK_FALSE(levin::newest_checkpoint(folder / "nothing"));
  const fs::path checkpoints = folder / "version_0" / "checkpoints";
  fs::create_directories(checkpoints);
  const auto set_age = [](const fs::path& file, int seconds) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  };
  levin::save_state(state_with(at::full({100}, 1.0)), checkpoints / "old.ckpt");
  levin::save_state(state_with(at::full({100}, 2.0)), checkpoints / "new.ckpt");
  levin::save_state(State::dict({{"state_dict", State::dict()}}), checkpoints / "weights.ckpt");
  set_age(checkpoints / "old.ckpt", 100);
  set_age(checkpoints / "new.ckpt", 10);
  const auto found = levin::newest_checkpoint(folder.path());
  REQUIRE(found);
  CHECK(found->file == checkpoints / "new.ckpt");
  CHECK(levin::run_folder_of(*found, folder.path()) == folder / "version_0");
  CHECK(levin::run_folder_of({"elsewhere/x.ckpt", State::dict()}, folder.path()).empty());

  std::string bytes = read_bytes(checkpoints / "new.ckpt");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_bytes(checkpoints / "new.ckpt", bytes);
  const CapturedStderr captured;
  const auto older = levin::newest_checkpoint(folder.path());
  REQUIRE(older);
  CHECK(older->file == checkpoints / "old.ckpt");
  CHECK(contains(captured.text(), "new.ckpt"));
}

TEST_CASE("a folder that cannot be read is named, and checkpoints elsewhere are found") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b");
  levin::save_state(state_with(at::full({4}, 1.0)), folder / "a" / "x.ckpt");
  fs::permissions(folder.path(), fs::perms(0755));
  for (const char* sealed : {"a", "b"}) {
    // The checkpoint is found only if the search continues after the unreadable folder.
    const std::string open = std::string(sealed) == "a" ? "b" : "a";
    if (open == "b") fs::rename(folder / "a" / "x.ckpt", folder / "b" / "x.ckpt");
    fs::permissions(folder / sealed, fs::perms::none);
    const CapturedStderr captured;
    // The superuser reads everything.
    const bool is_root = ::geteuid() == 0;
    if (is_root) REQUIRE(::seteuid(65534) == 0);
    const auto found = levin::newest_checkpoint(folder.path());
    if (is_root) REQUIRE(::seteuid(0) == 0);
    fs::permissions(folder / sealed, fs::perms(0755));
    if (open == "b") fs::rename(folder / "b" / "x.ckpt", folder / "a" / "x.ckpt");
    REQUIRE(found);
    CHECK(found->file == folder / open / "x.ckpt");
    CHECK(contains(captured.text(), (folder / sealed).string() + " cannot be read"));
  }
}

TEST_CASE("a folder is the newest checkpoint of a run, also of one that saves elsewhere") {
  const TemporaryFolder folder;
  const auto saved_by = [](const std::string& run) {
    State state = state_with(at::full({4}, 1.0));
    state["levin"] = State::dict({{"run", run}});
    return state;
  };
  for (const std::string run : {"version_0", "version_1"}) {
    fs::create_directories(folder / "runs" / run);
    levin::write_run_record(folder / "runs" / run, {.id = run, .checkpoint_folders = {(folder / "all").string()}});
  }
  fs::create_directories(folder / "all");
  levin::save_state(saved_by("version_0"), folder / "all" / "zero.ckpt");
  levin::save_state(saved_by("version_1"), folder / "all" / "one.ckpt");
  for (const auto& [run, file] : {std::pair("version_0", "zero.ckpt"), std::pair("version_1", "one.ckpt")}) {
    const auto found = levin::find_checkpoint({folder / "runs", (folder / "runs" / run).string()});
    REQUIRE(found);
    CHECK(found->checkpoint.file == folder / "all" / file);
    CHECK(found->run_folder == folder / "runs" / run);
    CHECK(found->resumes_in_place);
  }
  const std::string text = error_text<levin::UsageError>([&] {
    fs::create_directories(folder / "empty");
    levin::find_checkpoint({folder / "runs", (folder / "empty").string()});
  });
  CHECK(contains(text, "there is no resumable checkpoint in the folder"));
}

TEST_CASE("changes of a config are listed by path, without values of the environment") {
  using levin::config_changes;
  CHECK(config_changes("{}", "{}").empty());
  CHECK(config_changes("no JSON", "{}").empty());
  CHECK(config_changes(R"({"a": {"b": 1, "c": [1]}, "d": 1})", R"({"a": {"b": 2, "c": [1, 2]}, "e": "x"})") ==
        std::vector<std::string>{"a.b: 2 (it was 1)", "a.c: [1,2] (it was [1])", "d: unset (it was 1)",
                                 "e: \"x\" (it was unset)"});
  CHECK(config_changes(R"({"token": "secret"})", R"({"token": "${env:TOKEN}"})") ==
        std::vector<std::string>{"token: now or then a value of the environment"});
}

TEST_CASE("every rank gets the states of all") {
  levin::run_ranks(3, [](levin::Comm& comm) {
    const int64_t rank = comm.rank();
    const State own = State::dict({{"rank", rank}, {"values", at::full({rank * 1000}, static_cast<double>(rank))}});
    const auto states = levin::gather_states(own, comm);
    if (states.size() != 3) throw levin::Error("expected 3 states");
    for (int64_t other = 0; other < 3; ++other) {
      const State& state = states[static_cast<size_t>(other)];
      const at::Tensor expected = at::full({other * 1000}, static_cast<double>(other));
      if (state.at("rank").to_int() != other || !at::equal(state.at("values").to_tensor(), expected))
        throw levin::Error("rank ", rank, " has another state for rank ", other);
    }
  });
}
