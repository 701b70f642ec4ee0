#include <levin/program/commands/predict_inputs.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/overrides.h>
#include <levin/program/config/run_options.h>

#include <filesystem>
#include <map>

namespace levin::cli {
namespace {

/// Removes `--input PATH...` and returns the paths.
std::vector<std::string> take_inputs(std::vector<std::string>& arguments) {
  std::vector<std::string> paths, rest;
  bool follows = false;
  for (const std::string& argument : arguments) {
    const bool is_flag = argument.starts_with("--");
    if (argument.starts_with("--input=")) {
      paths.push_back(argument.substr(8));
    } else if (argument == "--input") {
      follows = true;
      continue;
    } else if (follows && !is_flag) {
      paths.push_back(argument);
      continue;
    } else {
      rest.push_back(argument);
    }
    follows = false;
  }
  if (paths.empty() && rest.size() < arguments.size()) throw UsageError("--input: expected a file or a folder");
  arguments = std::move(rest);
  return paths;
}

}  // namespace

std::vector<std::string> with_predict_inputs(std::vector<std::string> arguments) {
  const std::vector<std::string> paths = take_inputs(arguments);
  if (paths.empty()) return arguments;
  const Schema& schema = schema_of<RunOptions>();
  Config config = read_config_files(schema, config_files_of(arguments));
  std::vector<Override> overrides = environment_overrides();
  for (Override& given : likely_overrides(arguments)) overrides.push_back(std::move(given));
  apply(schema, config, std::move(overrides));
  const std::string data = class_name_of(config.values.value("data", Json()));
  static const std::map<std::string, std::string> kOptions = {
      {"ImageFolder", "predict_root"}, {"Csv", "test_file"}, {"Npy", "test_input"}, {"Text", "file"}};
  const auto option = kOptions.find(data);
  if (option == kOptions.end())
    throw UsageError("--input: ", data.empty() ? "the config names no data" : data + " takes no files to predict",
                     "; ImageFolder, Csv, Npy and Text do");
  std::string text;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) throw UsageError("--input: there is no file or folder ", path);
    text += (text.empty() ? "" : ",") + path;
  }
  if (paths.size() > 1 && data != "ImageFolder")
    throw UsageError("--input: ", data, " takes one file, and here are ", paths.size());
  arguments.push_back("--data." + option->second + "=" + text);
  return arguments;
}

}  // namespace levin::cli
