#include <levin/program/commands/project_files.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), folder).string());
  return files;
}

std::string error_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "new");
  const ProgramRun run = run_program(std::move(arguments));
  CHECK(run.code == 2);
  return run.err;
}

}  // namespace

TEST_CASE("levin new writes each template whole, with the project's name everywhere") {
  const TemporaryFolder folder;
  for (const std::string name : {"image", "tabular", "text", "rl", "embedded"}) {
    INFO(name);
    const fs::path project = folder / ("my_" + name);
    const ProgramRun run = run_program({"new", project.string(), "--template", name});
    CHECK(run.err == "");
    CHECK(run.code == 0);
    CHECK(contains(run.out, "build/release/my_" + name));
    const std::set<std::string> files = files_in(project);
    for (const char* file :
         {".clang-format", ".github/workflows/ci.yml", ".gitignore", ".vscode/settings.json", "CMakeLists.txt",
          "CMakePresets.json", "README.md", "config.json", "src/main.cpp", "src/module.h", "tests/module_test.cpp"})
      CHECK(files.contains(file));
    CHECK_FALSE(files.contains("about.md"));
    // Sources are those that the repository's tests compile and run.
    for (const levin::cli::ProjectFile& file : levin::cli::project_files())
      if (file.part == name && file.path.ends_with(".cpp")) CHECK(text_of(project / file.path) == file.text);
    for (const std::string& file : files) {
      INFO(file);
      const std::string text = text_of(project / file);
      for (const char* hole : {"@project@", "@levin_prefix@", "@run@", "@try@", "@about@", "@files@", "@own@"})
        CHECK_FALSE(contains(text, hole));
      if (file.ends_with(".json")) CHECK_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded());
    }
    CHECK(nlohmann::json::parse(text_of(project / "config.json"))["$schema"] == "levin.schema.json");
    CHECK(contains(text_of(project / "CMakeLists.txt"), "add_executable(my_" + name + " src/main.cpp)"));
    CHECK(contains(text_of(project / "README.md"), "# my_" + name + "\n"));
    CHECK(contains(text_of(project / "README.md"), "## Your own"));
    const auto schemas = nlohmann::json::parse(text_of(project / ".vscode/settings.json"))["json.schemas"];
    CHECK(schemas[0]["url"] == "./levin.schema.json");
  }
}

TEST_CASE("levin new --from-loop prints the five steps, and writes them with the programs that they show") {
  const std::string steps = run_program({"new", "--from-loop"}).out;
  for (const char* step :
       {"## 1. The body of the loop becomes `training_step`", "## 5. Everything else becomes options",
        "[`by_hand.cpp`](src/by_hand.cpp)", "`levin new --from-loop FOLDER`"})
    CHECK(contains(steps, step));
  CHECK_FALSE(contains(steps, ".md)"));
  CHECK_FALSE(contains(steps, "../"));

  const TemporaryFolder folder;
  const fs::path project = folder / "my_loop";
  const ProgramRun run = run_program({"new", "--from-loop", project.string()});
  CHECK(run.err == "");
  CHECK(run.code == 0);
  CHECK(contains(run.out, "ctest --preset release"));
  CHECK(files_in(project) == std::set<std::string>{".clang-format", ".github/workflows/ci.yml", ".gitignore",
                                                   "CMakeLists.txt", "CMakePresets.json", "README.md",
                                                   "src/by_hand.cpp", "src/problem.h", "src/with_levin.cpp",
                                                   "tests/same_bits.cpp"});
  CHECK(contains(steps, text_of(project / "README.md")));
  CHECK(contains(text_of(project / "CMakeLists.txt"), "project(my_loop LANGUAGES CXX)"));
  CHECK(contains(error_of({"--from-loop", "--template", "rl", "x"}), "--from-loop has a template of its own"));
  CHECK_FALSE(fs::exists("x"));
}

TEST_CASE("levin new takes an empty folder, and refuses one that is not empty, with all that is in it") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "empty");
  CHECK(run_program({"new", (folder / "empty/").string()}).code == 0);
  CHECK(fs::exists(folder / "empty/CMakeLists.txt"));

  fs::create_directories(folder / "full");
  std::ofstream(folder / "full/notes.txt") << "mine";
  CHECK(contains(error_of({(folder / "full").string()}), "full is there already, and not empty; choose another name"));
  CHECK(files_in(folder / "full") == std::set<std::string>{"notes.txt"});
  CHECK(text_of(folder / "full/notes.txt") == "mine");
  CHECK(contains(error_of({(folder / "full/notes.txt").string()}), "begins with a letter"));
  std::ofstream(folder / "plain") << "mine";
  CHECK(contains(error_of({(folder / "plain").string()}), "is there already, and no folder"));
  CHECK(text_of(folder / "plain") == "mine");
  fs::create_symlink(folder / "nowhere", folder / "link");
  CHECK(contains(error_of({(folder / "link").string()}), "is there already, and no folder"));
  CHECK(contains(error_of({"/proc/nothing/here"}), "/proc/nothing/here cannot be made: "));
  // Nothing else was left behind.
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++entries;
  CHECK(entries == 4);
}

TEST_CASE("levin new refuses names that no program can have, and unknown words") {
  for (const char* name : {"2fast", "my project", "naïve", ".", "..", "-x", "a.b", "a$b"}) {
    INFO(name);
    const std::string error = error_of({"--", name});
    CHECK(contains(error, "levin new: "));
  }
  CHECK(contains(error_of({"my project"}), "'my project' cannot be the name of a project; it begins with a letter"));
  CHECK(contains(error_of({"test"}), "CMake has a target 'test' of its own"));
  CHECK(contains(error_of({"x", "--template", "images"}),
                 "--template: there is none called 'images' (did you mean image?)"));
  CHECK(contains(error_of({"x", "--template"}), "--template: expected a value"));
  CHECK(contains(error_of({"x", "--tmplate", "rl"}), "no flag --tmplate (did you mean --template?)"));
  CHECK(contains(error_of({}), "expected the folder of the project"));
  CHECK(contains(error_of({"a", "b"}), "levin new: expected FOLDER, got a b"));
  CHECK_FALSE(fs::exists("x"));
  CHECK(contains(run_program({"new", "--help"}).out, "--template NAME"));
  CHECK(contains(run_program({"--help"}).out, "\n  new "));
}
