// Requests for checkpoints: when they are saved, and what happens to errors.
#include <levin/trainer/checkpoint/checkpoint_saver.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using namespace levin;

namespace {

struct SavedRun final : CheckpointSource {
  explicit SavedRun(bool errors_are_warnings)
      : saver(*this, {.comm = comm, .errors_are_warnings = errors_are_warnings}) {}

  CheckpointContents contents(bool weights_only) override {
    times += 1;
    return State::dict({{"weights_only", weights_only}});
  }
  void before_save(const std::filesystem::path& file) override { announced.push_back(file); }
  std::filesystem::path run_folder() const override { return folder.path(); }

  TemporaryFolder folder;
  SingleProcessComm comm = {};
  int times = 0;
  std::vector<std::filesystem::path> announced = {};
  CheckpointSaver saver;
};

}  // namespace

TEST_CASE("requests wait until the run is at a position to save, and each is saved once") {
  SavedRun run(/*errors_are_warnings=*/false);
  CHECK_FALSE(run.saver.has_work());
  run.saver.request({run.folder.path() / "a" / "whole.ckpt", {}});
  run.saver.request({run.folder.path() / "weights.ckpt", {.weights_only = true}});
  CHECK(run.saver.has_work());
  CHECK(run.times == 0);
  run.saver.save();
  run.saver.finish();
  CHECK(run.times == 2);
  CHECK_FALSE(run.saver.has_work());
  CHECK_FALSE(load_state(run.folder.path() / "a" / "whole.ckpt").at("weights_only").to_bool());
  CHECK(load_state(run.folder.path() / "weights.ckpt").at("weights_only").to_bool());
  // A run cannot resume from weights alone.
  CHECK(run.announced == std::vector{run.folder.path() / "a" / "whole.ckpt"});

  run.saver.request({run.folder.path() / "dropped.ckpt", {}});
  run.saver.drop_requests();
  run.saver.save();
  run.saver.finish();
  CHECK_FALSE(std::filesystem::exists(run.folder.path() / "dropped.ckpt"));
}

TEST_CASE("a checkpoint that cannot be saved is an error with the run's folder, or a warning if the options say so") {
  for (const bool errors_are_warnings : {false, true}) {
    SavedRun run(errors_are_warnings);
    const std::filesystem::path file = run.folder.path() / "a_file";
    std::ofstream(file) << "no folder";
    run.saver.request({file / "below.ckpt", {}});
    if (errors_are_warnings) {
      CHECK_NOTHROW(run.saver.save());
    } else {
      const std::string error = error_text([&] { run.saver.save(); });
      CHECK(contains(error, "cannot be written"));
      CHECK(contains(error, "ckpt_path " + run.folder.path().string()));
    }
    CHECK_FALSE(run.saver.has_work());
  }
}
