#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/shell_word.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/inspect_loader.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/problems.h>
#include <levin/program/guess/guess.h>

#include <filesystem>
#include <iostream>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGuessHelp =
    R"(levin data guess looks at data of your own, says what they are, and writes a config that trains on them.

Usage: levin data guess FOLDER|FILE [--target NAME] [--output FILE] [--force] [--all]

  --target NAME   The column of a table to predict, the file with an array's targets, or the extension of a tar file's
                  targets [guessed]
  --output FILE   The config that is written [guess.json]
  --force         Overwrite that file
  --all           Look at every image and sample [at 2000 of each part, evenly spread]

It reads images in one folder for each class (also below train, val and test), tables (CSV), arrays (.npy, .npz), tar files
of samples, and texts. Files that cannot be read are named with the reason and what to do. Nothing but the config is
written; its comments say what may be changed.
)";

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
  const RunOptions options = read_run_options(config);
  options.model.make("model");
  const auto data = options.data.make("data");
  data->prepare_data();
  data->setup(Stage::Fit);
  for (data::Loaders loaders : {data->train_dataloader(), data->val_dataloader()})
    for (size_t i = 0; i < loaders.size(); ++i) inspect(loaders[i], {.batches = 1});
}

}  // namespace

void guess_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kGuessHelp << std::flush;
    return;
  }
  const std::string output = take_flag(arguments, "--output").value_or("guess.json");
  const bool force = take_switch(arguments, "--force");
  const GuessOptions options{.target = take_flag(arguments, "--target").value_or(""),
                             .all = take_switch(arguments, "--all")};
  for (const std::string& word : arguments)
    if (word.starts_with("-"))
      throw UsageError("levin data guess: no flag ", word, "; `levin data guess --help` says more");
  if (arguments.size() != 1)
    throw UsageError("levin data guess: expected a folder or a file; `levin data guess --help` says more");
  std::error_code ignored;
  if (!force && fs::exists(output, ignored))
    throw UsageError("levin data guess: ", output,
                     " is there already; name another file with --output, or add --force");

  const std::string& path = arguments[0];
  const Guess found = guess(path, options);
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
  const std::string text = found.config.text("Written by `levin data guess " + shell_word(path) +
                                             "`. Train with: levin fit --config " + shell_word(output));
  try_config(output, text);
  write_text_file_atomically(followed(output), text);
  std::cout << "wrote " << output << "; the first batches could be read. To train:\n"
            << "  levin fit --config " << shell_word(output) << "\n"
            << std::flush;
}

}  // namespace levin::cli
