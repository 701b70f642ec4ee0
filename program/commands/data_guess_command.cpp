#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/cli/shell_word.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/inspect_loader.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/problems.h>
#include <levin/program/config/run_options.h>
#include <levin/program/guess/guess.h>

#include <filesystem>
#include <iostream>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

struct GuessFlags {
  std::string target = LEVIN_OPTION(target, "",
                                    "The column of a table to predict, the file with an array's targets, or the "
                                    "extension of a tar file's targets; unset: guessed");
  std::string output = LEVIN_OPTION(output, "guess.json", "The config that is written");
  bool force = LEVIN_OPTION(force, false, "Overwrite that file");
  bool all = LEVIN_OPTION(all, false, "Look at every image and sample, not at 2000 of each part, evenly spread");
};

void print(std::ostream& out, const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    out << "  " << fault.what << "\n";
    if (!fault.advice.empty()) out << "    -> " << fault.advice << "\n";
  }
}

/// Reads the config as a fit does, makes its model, and takes the first batch of each loader.
void try_config(const std::string& name, const std::string& text) {
  const Config config = parse_config(name, text);
  throw_problems(find_problems(schema_of<RunOptions>(), config));
  const ReadOptions options = read_run_options(config);
  options.model.make("model");
  const auto data = options.data.make("data");
  data->prepare_data();
  data->setup(Stage::Fit);
  for (data::Loaders loaders : {data->train_dataloader(), data->val_dataloader()})
    for (size_t i = 0; i < loaders.size(); ++i) inspect(loaders[i], {.batches = 1});
}

/// Returns the copy that is looked at of what a URL names; a path of this machine itself.
fs::path local_copy(const std::string& path) {
  if (is_on_server(path) && !fs::path(path).has_extension())
    throw UsageError("levin data guess: ", data::shown_url(path),
                     ": of a server's data single files are looked at; copy this folder, or a part of it, to this "
                     "machine, look at that, and write the URL into the config");
  if (is_on_server(path) && data::shown_url(path) != path)
    throw UsageError("levin data guess: ", data::shown_url(path),
                     ": its signature would stand in the config; fetch the file, and look at that");
  return local_path(path);
}

/// Returns the text with `url` in place of its copy.
std::string with_url(std::string text, const fs::path& copy, const std::string& url) {
  if (!is_on_server(url)) return text;
  const std::string& name = copy.native();
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + url.size()))
    text.replace(at, name.size(), url);
  return text;
}

int run_guess(const GuessFlags& flags, const Words& words) {
  require_local("--output", flags.output);
  std::error_code ignored;
  if (!flags.force && fs::exists(flags.output, ignored))
    throw UsageError("levin data guess: ", flags.output,
                     " is there already; name another file with --output, or add --force");

  const std::string &path = words[0], &output = flags.output;
  const fs::path copy = local_copy(path);
  const Guess found = guess(copy, {.target = flags.target, .all = flags.all});
  std::cout << path << ": " << found.kind << "\n";
  for (const std::string& line : found.seen) std::cout << "  " << line << "\n";
  if (!found.broken.empty()) {
    std::cout << "what is broken:\n";
    print(std::cout, found.broken);
  }
  std::cout.flush();
  if (!found.stops.empty()) {
    std::cout << "nothing can be trained on this before it is repaired:\n";
    print(std::cout, found.stops);
    throw UsageError("levin data guess: ", path, ": ", found.stops.front().what, "; no config was written");
  }
  const std::string head = "Written by `levin data guess " + shell_word(path) + "`. Train with: levin fit --config ";
  const std::string text = with_url(found.config.text(head + shell_word(output)), copy, path);
  try_config(output, text);
  write_text_file_atomically(followed(output), text);
  std::cout << "wrote " << output << "; the first batches could be read. To train:\n"
            << "  levin fit --config " << shell_word(output) << "\n"
            << std::flush;
  return 0;
}

}  // namespace

Command data_guess_command() {
  return make_command(
      {.name = "data guess",
       .summary = "Look at a folder or a file of your own, say what it is, and write a config that trains on it",
       .usage = "FOLDER|FILE",
       .about =
           R"(It reads images in one folder for each class (also below train, val and test), tables (CSV), arrays (.npy,
.npz), tar files of samples, and texts. Files that cannot be read are named with the reason and what to do. Nothing but
the config is written; its comments say what may be changed. A URL of a file (s3://, gs://, https://) will do too.)",
       .least = 1,
       .most = 1,
       .values = {{"target", "NAME"}, {"output", "FILE"}}},
      run_guess);
}

}  // namespace levin::cli
