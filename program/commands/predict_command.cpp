#include <levin/core/system/error.h>
#include <levin/data/remote/remote_object.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/config/overrides.h>
#include <levin/program/config/run_options.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace levin::cli {
namespace {

struct PredictFlags {
  std::vector<std::string> input = LEVIN_OPTION(
      input, {},
      "What to predict: images or a folder of them, a .csv, .npy, .npz or text file, .tar files, JSON lines");
  std::string output =
      LEVIN_OPTION(output, "",
                   "Write the predictions to this file: a table (.csv), JSON lines (.jsonl), an array (.npy) or "
                   "COCO's results (.json)");
};

/// Adds the option of the config's data that takes the paths of --input: predict_root of ImageFolder and Segmentation,
/// predict_images of Detection, test_file of Csv and CsvImages, test_input or test_arrays of Npy, file of Text,
/// test_shards of Tar, test_files of Parquet, Hdf5, JsonLines and TextJsonl. Throws UsageError for other data, for a
/// path that does not exist, and for several where the data takes one.
Words with_inputs(Words words, const std::vector<std::string>& paths) {
  if (paths.empty()) return words;
  const Schema& schema = schema_of<RunOptions>();
  Config config = read_config_files(schema, config_files_of(words));
  std::vector<Override> overrides = environment_overrides();
  for (Override& given : likely_overrides(words)) overrides.push_back(std::move(given));
  apply(schema, config, std::move(overrides));
  const std::string data = class_name_of(config.values.value("data", Json()));
  static const std::map<std::string, std::string> kOptions = {
      {"ImageFolder", "predict_root"}, {"Csv", "test_file"},
      {"Npy", "test_input"},           {"Text", "file"},
      {"Tar", "test_shards"},          {"TextJsonl", "test_files"},
      {"LabeledTexts", "test_files"},  {"TaggedWords", "test_files"},
      {"TextPairs", "test_files"},     {"Parquet", "test_files"},
      {"Hdf5", "test_files"},          {"JsonLines", "test_files"},
      {"Detection", "predict_images"}, {"Segmentation", "predict_root"},
      {"CsvImages", "test_file"}};
  static const std::set<std::string> kTakesSeveral = {"Detection",    "Hdf5",     "ImageFolder", "JsonLines",
                                                      "LabeledTexts", "Parquet",  "TaggedWords", "Tar",
                                                      "TextJsonl",    "TextPairs"};
  const auto option = kOptions.find(data);
  if (option == kOptions.end())
    throw UsageError("--input: ", data.empty() ? "the config names no data" : data + " takes no files to predict",
                     "; ImageFolder, Segmentation, CsvImages, Detection, Csv, Npy, Parquet, Hdf5, JsonLines, Tar, Text "
                     "and TextJsonl do");
  std::string text;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!is_remote(path) && !std::filesystem::exists(path, ignored))
      throw UsageError("--input: there is no file or folder ", path);
    text += (text.empty() ? "" : ",") + path;
  }
  if (paths.size() > 1 && !kTakesSeveral.contains(data))
    throw UsageError("--input: ", data, " takes one file, and here are ", paths.size());
  const bool has_named_arrays = data == "Npy" && !config.values.at("data").value("arrays", Json::object()).empty();
  if (has_named_arrays && !text.ends_with(".npz"))
    throw UsageError(
        "--input: the arrays of this config have names (data.arrays); give a .npz file with arrays of these ",
        "names, or set data.test_arrays");
  if (has_named_arrays)
    words.push_back("--data.test_arrays=" + Json({{"*", text}}).dump());
  else
    words.push_back("--data." + option->second + "=" + text);
  return words;
}

int run_predict(const PredictFlags& flags, const Words& words) {
  return run_module("predict", with_inputs(words, flags.input), {.output = flags.output});
}

}  // namespace

Command predict_command() {
  return make_command({.name = "predict",
                       .summary = "Print or write what a module predicts",
                       .rest = Rest::ConfigFlags,
                       .values = {{"input", "PATH..."}, {"output", "FILE"}}},
                      run_predict);
}

}  // namespace levin::cli
