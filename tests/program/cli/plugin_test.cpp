// Plugins: shared libraries whose classes a config can name.
#include <cstdlib>
#include <filesystem>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/checkpoint/spawn.h"

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  REQUIRE(value != nullptr);
  return value;
}

struct PluginRuns {
  /// Runs `levin --plugin <plugin> <words>`; returns the exit code. The output is in `log`.
  int run(const std::filesystem::path& plugin, std::vector<std::string> words) const {
    words.insert(words.begin(), {variable("LEVIN_PROGRAM"), "--plugin", plugin.string()});
    return Spawned(words, folder / "log", {"LEVIN_TEST_PLUGIN_TRACE=" + trace().string()}).wait();
  }
  std::vector<std::string> fit() const {
    return {"fit",
            "--model.class",
            "Softmax",
            "--data.class",
            "SyntheticDigits",
            "--data.train-size",
            "64",
            "--data.batch-size",
            "16",
            "--max-epochs",
            "1",
            "--accelerator",
            "cpu",
            "--callbacks",
            "Greeting",
            "--callbacks.0.greeting",
            "good day",
            "--default-root-dir",
            folder.path().string(),
            "--enable-progress-bar",
            "false"};
  }
  std::string log() const { return read_bytes(folder / "log"); }
  std::filesystem::path trace() const { return folder / "trace"; }
  bool was_loaded() const { return std::filesystem::exists(trace()); }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a config names a callback and a module of a plugin") {
  const PluginRuns runs;
  const int code = runs.run(variable("LEVIN_TEST_PLUGIN"), runs.fit());
  INFO(runs.log());
  CHECK(code == 0);
  CHECK(contains(runs.log(), "good day after 4 steps"));
  CHECK(runs.was_loaded());
}

TEST_CASE("a config names a data module and a logger of a plugin, with their options") {
  const PluginRuns runs;
  const int code = runs.run(variable("LEVIN_TEST_PLUGIN"), {"fit",
                                                            "--model.class",
                                                            "Softmax",
                                                            "--data.class",
                                                            "Noise",
                                                            "--data.samples",
                                                            "24",
                                                            "--logger",
                                                            R"([{"class": "StepsLogger", "file": "mine.txt"}])",
                                                            "--max-epochs",
                                                            "2",
                                                            "--log-every-n-steps",
                                                            "1",
                                                            "--accelerator",
                                                            "cpu",
                                                            "--default-root-dir",
                                                            runs.folder.path().string(),
                                                            "--name",
                                                            "run",
                                                            "--enable-progress-bar",
                                                            "false"});
  INFO(runs.log());
  CHECK(code == 0);
  const std::filesystem::path folder = runs.folder.path() / "run" / "version_0";
  CHECK(read_bytes(folder / "mine.txt") == "1\n2\n3\n4\n5\n6\n");
  CHECK_FALSE(std::filesystem::exists(folder / "metrics.csv"));
}

TEST_CASE("a plugin of another build is refused before its code runs") {
  const PluginRuns runs;
  std::string bytes = read_bytes(variable("LEVIN_TEST_PLUGIN"));
  for (const std::string what : {"built with: levin ", ", LibTorch ", ", C++ ABI "}) {
    INFO(what);
    std::string other = bytes;
    const size_t at = other.find(what);
    REQUIRE(at != std::string::npos);
    other[at + what.size()] = '9';
    write_bytes(runs.folder / "other.so", other);
    CHECK(runs.run(runs.folder / "other.so", runs.fit()) == 2);
    CHECK(contains(runs.log(), "other.so was built with "));
    CHECK(contains(runs.log(), "build the plugin again"));
    CHECK_FALSE(runs.was_loaded());
  }
}

TEST_CASE("a plugin that others can write is refused before its code runs") {
  const PluginRuns runs;
  namespace fs = std::filesystem;
  const fs::path plugin = runs.folder / "own" / "plugin.so";
  fs::create_directories(plugin.parent_path());
  fs::permissions(plugin.parent_path(), fs::perms(0755));
  fs::copy_file(variable("LEVIN_TEST_PLUGIN"), plugin);
  for (const fs::path& place : {plugin, plugin.parent_path()}) {
    const fs::perms before = fs::status(place).permissions();
    fs::permissions(place, fs::perms::others_write, fs::perm_options::add);
    CHECK(runs.run(plugin, runs.fit()) == 2);
    CHECK(contains(runs.log(), place.string() + " can be written by all users"));
    CHECK_FALSE(runs.was_loaded());
    fs::permissions(place, before);
  }
  CHECK(runs.run(plugin, {"list", "callbacks"}) == 0);
}

TEST_CASE("what is no plugin is refused with its reason") {
  const PluginRuns runs;
  CHECK(runs.run(runs.folder / "none.so", {"list", "callbacks"}) == 2);
  CHECK(contains(runs.log(), "--plugin: cannot read"));
  write_bytes(runs.folder / "text.so", "no library");
  CHECK(runs.run(runs.folder / "text.so", {"list", "callbacks"}) == 2);
  CHECK(contains(runs.log(), "is no plugin of levin; write LEVIN_PLUGIN();"));
  const std::string bytes = read_bytes(variable("LEVIN_TEST_PLUGIN"));
  const size_t mark = bytes.find("levin plugin, built with: ");
  write_bytes(runs.folder / "cut.so", bytes.substr(mark, 256));
  CHECK(runs.run(runs.folder / "cut.so", {"list", "callbacks"}) == 2);
  CHECK(contains(runs.log(), "cannot be loaded:"));
}
