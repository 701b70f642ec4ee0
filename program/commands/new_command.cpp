#include <levin/core/state/atomic_file.h>
#include <levin/core/state/draft_folder.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/cli/installed_prefix.h>
#include <levin/program/cli/shell_word.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/project_files.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <map>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

struct NewFlags {
  std::optional<std::string> template_ = LEVIN_OPTION(
      template_, {},
      "image: pictures and their classes; tabular: numbers from the columns of a table; text: the next byte of a text; "
      "rl: an agent that plays (reinforcement learning); embedded: a program with a loop of its own, which hands over "
      "batches [image]");
  bool from_loop = LEVIN_OPTION(
      from_loop, false,
      "Print how a training loop written by hand becomes levin's in five steps; with FOLDER, write a project with that "
      "page, the loop, the same with levin, and a test that both end with the same weights");
};

struct Template {
  const char* name;
  const char* run = "fit --config config.json";  ///< arguments of the program that trains
  /// The same for a test, as CMake writes them.
  const char* a_few = R"(fit --config "${CMAKE_CURRENT_SOURCE_DIR}/config.json" --fast-dev-run 4)";
};

constexpr Template kFromLoop = {.name = "from_loop", .run = ""};

constexpr Template kTemplates[] = {
    {"image"},
    {"tabular"},
    {"text"},
    {"rl"},
    {"embedded", "", R"(--config "${CMAKE_CURRENT_SOURCE_DIR}/config.json" --steps 20)"}};

const Template& template_named(const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const Template& one : kTemplates) {
    if (name == one.name) return one;
    names.emplace_back(one.name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  throw UsageError("--template: there is none called '", name, "'", did_you_mean(name, names), "; there are: ", all);
}

/// Throws unless CMake and a compiler take the name as that of a program.
void check_name(const std::string& name) {
  static const char* const kTaken[] = {"all",       "ALL_BUILD",     "clean", "CMakeFiles", "edit_cache",
                                       "help",      "install",       "levin", "package",    "package_source",
                                       "RUN_TESTS", "rebuild_cache", "test",  "Testing",    "ZERO_CHECK"};
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const bool is_word = !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  if (!is_word)
    throw UsageError(
        "levin new: '", name,
        "' cannot be the name of a project; it begins with a letter, and has letters of ASCII, digits, _ and -"
        " alone, such as my_project");
  if (std::ranges::find(kTaken, name) != std::end(kTaken))
    throw UsageError("levin new: CMake has a target '", name, "' of its own; choose another name");
}

/// Throws unless `folder` is missing or empty.
void check_free(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status))
    throw UsageError("levin new: ", folder.string(), " is there already, and no folder; choose another name");
  const bool is_empty = fs::is_empty(folder, error);
  if (error) throw UsageError("levin new: ", folder.string(), ": the folder cannot be read: ", error.message());
  if (!is_empty)
    throw UsageError("levin new: ", folder.string(), " is there already, and not empty; choose another name");
}

using Values = std::map<std::string, std::string>;

/// Puts the values in place of their names between two @.
std::string filled(std::string_view text, const Values& values) {
  std::string result;
  while (!text.empty()) {
    const size_t at = text.find('@');
    result += text.substr(0, at);
    if (at == text.npos) break;
    const size_t end = text.find('@', at + 1);
    const auto value = values.find(end == text.npos ? "" : std::string(text.substr(at + 1, end - at - 1)));
    result += value == values.end() ? "@" : value->second;
    text.remove_prefix(value == values.end() ? at + 1 : end + 1);
  }
  return result;
}

std::string_view text_of(std::string_view part, std::string_view path) {
  for (const ProjectFile& file : project_files())
    if (file.part == part && file.path == path) return file.text;
  throw Error("levin new: ", std::string(part), " has no file ", std::string(path));
}

/// Files of a template that become parts of the README.
bool is_part_of_readme(std::string_view path) { return path == "about.md" || path == "files.md" || path == "own.md"; }

/// Common files that a project without a config has too.
bool serves_any_project(std::string_view path) {
  return path == "CMakePresets.json" || path == ".clang-format" || path == ".gitignore" ||
         path == ".github/workflows/ci.yml";
}

/// Returns a page of docs/ as a project has it: the programs that it shows are in src, and links to other pages are
/// their names alone.
std::string page_of_project(std::string_view text) {
  constexpr std::string_view kPrograms = "../examples/from_a_loop/";
  std::string page;
  while (!text.empty()) {
    const size_t middle = text.find("](");
    const size_t open = middle == text.npos ? middle : text.rfind('[', middle);
    const size_t close = middle == text.npos ? middle : text.find(')', middle);
    if (open == text.npos || close == text.npos) break;
    const std::string_view label = text.substr(open + 1, middle - open - 1);
    std::string_view target = text.substr(middle + 2, close - middle - 2);
    page += text.substr(0, open);
    if (target.starts_with(kPrograms)) {
      target.remove_prefix(kPrograms.size());
      page += "[" + std::string(label) + "](src/" + std::string(target) + ")";
    } else {
      page += label;
    }
    text.remove_prefix(close + 1);
  }
  return page + std::string(text);
}

void write_project(const fs::path& folder, const Template& chosen, const std::string& name, const fs::path& prefix) {
  Values values = {{"project", name}, {"levin_prefix", prefix.string()}, {"run", chosen.run}, {"try", chosen.a_few}};
  const bool from_loop = &chosen == &kFromLoop;
  for (const char* part : {"about", "files", "own"})
    if (!from_loop) values[part] = filled(text_of(chosen.name, std::string(part) + ".md"), values);
  fs::create_directories(folder.parent_path());
  const DraftFolder draft(folder);
  for (const ProjectFile& file : project_files()) {
    const bool is_common = file.part.empty() && (!from_loop || serves_any_project(file.path));
    if ((!is_common && file.part != chosen.name) || is_part_of_readme(file.path)) continue;
    const fs::path path = draft.path() / file.path;
    fs::create_directories(path.parent_path());
    const bool is_page = from_loop && file.path == "README.md";
    write_text_file_atomically(path, is_page ? page_of_project(file.text) : filled(file.text, values));
  }
  fs::rename(draft.path(), folder);  // fails if somebody has put something there meanwhile
}

int run_new(const NewFlags& flags, const Words& words) {
  const bool from_loop = flags.from_loop;
  if (from_loop && flags.template_)
    throw UsageError("levin new: --from-loop has a template of its own; leave out --template");
  const Template& chosen = from_loop ? kFromLoop : template_named(flags.template_.value_or("image"));
  if (from_loop && words.empty()) {
    std::cout << page_of_project(text_of(kFromLoop.name, "README.md"));
    std::cout << "\n`levin new --from-loop FOLDER` writes this page with the programs that it shows.\n" << std::flush;
    return 0;
  }
  if (words.empty()) throw UsageError("levin new: expected the folder of the project; `levin new --help` says more");
  require_local("levin new", words[0]);
  const fs::path folder = fs::absolute(words[0]).lexically_normal();
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  const std::string name = words[0] == "." ? "." : named.filename().string();
  check_name(name);
  check_free(named);
  const fs::path prefix = installed_prefix();
  try {
    write_project(named, chosen, name, prefix);
  } catch (const fs::filesystem_error& error) {
    throw UsageError("levin new: ", named.string(), " cannot be made: ", error.code().message());
  }
  std::cout << "wrote " << words[0] << ", a project with the template " << chosen.name << ". To build and "
            << (from_loop ? "compare" : "train") << ":\n"
            << "  cd " << shell_word(words[0]) << "\n"
            << "  cmake --preset release && cmake --build --preset release\n";
  if (from_loop)
    std::cout << "  ctest --preset release\nREADME.md has the five steps.\n";
  else
    std::cout << "  build/release/" << name << (*chosen.run ? " " : "") << chosen.run << "\n";
  if (prefix.empty())
    std::cout << "This levin runs from its build folder. Install it (cmake --install BUILD --prefix PREFIX), and pass "
                 "-DLEVIN_PREFIX=PREFIX to the first cmake.\n";
  std::cout.flush();
  return 0;
}

}  // namespace

Command new_command() {
  return make_command(
      {.name = "new",
       .summary = "Write a project that builds and trains: image, tabular, text, rl or embedded",
       .usage = "FOLDER",
       .about =
           R"(The folder's name is the project's. The project has a module, its data, a config, a test, CMake presets, a
CI file, and a README that says how to take your own data. The data that come with it are made by the program.)",
       .most = 1,
       .values = {{"template_", "NAME"}}},
      run_new);
}

}  // namespace levin::cli
