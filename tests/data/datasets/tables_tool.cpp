// For tables_python_test.py: writes the training batches of data modules of tables.
//
//   tables_tool
//     Reads a line of JSON for each task: {"class", "options", "out", "rank", "world", "skip", "split"}. Writes
//     OUT/BATCH.NAME.npy for each field, and prints a line: the class names as JSON, or an object with the error.
//     `skip` is a number of batches that a first loader reads; a second continues from its state.
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/hdf5.h>
#include <levin/data/datasets/json_lines.h>
#include <levin/data/datasets/parquet.h>
#include <levin/data/files/npy_file.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using Task = nlohmann::ordered_json;

template <class Module>
nlohmann::json write_batches(const Task& task) {
  typename Module::Options given;
  levin::schema_of<typename Module::Options>().set(&given, "data", task.at("options"));
  Module module(given);
  const bool is_predict = task.value("split", "train") == "predict";
  module.setup(levin::Stage::Fit);
  if (is_predict) module.setup(levin::Stage::Predict);
  const auto loaders = [&] {
    const std::string split = task.value("split", "train");
    return split == "train" ? module.train_dataloader()
           : is_predict     ? module.predict_dataloader()
                            : module.val_dataloader();
  };
  const levin::data::Loaders first = loaders(), second = loaders();
  for (const levin::data::Loaders* own : {&first, &second})
    (*own)[0].shard(task.value("rank", 0), task.value("world", 1));
  const int64_t skip = task.value("skip", 0);
  first[0].set_epoch(task.value("epoch", 1));
  for (int64_t i = 0; i < skip; ++i) first[0].next();
  if (skip > 0) second[0].load_state_dict(first[0].state_dict());
  levin::data::Loader& loader = skip > 0 ? second[0] : first[0];
  const std::filesystem::path out = task.at("out").get<std::string>();
  for (int64_t number = skip;; ++number) {
    const auto loaded = loader.next();
    if (!loaded) break;
    if (loaded->absent) continue;
    for (const std::string& name : loaded->batch.names())
      levin::data::write_npy(out / (std::to_string(number) + "." + name + ".npy"), loaded->batch[name]);
  }
  return module.encoding().class_names;
}

nlohmann::json answer(const Task& task) {
  try {
    const std::string name = task.at("class");
    if (name == "Parquet") return write_batches<levin::data::Parquet>(task);
    if (name == "Hdf5") return write_batches<levin::data::Hdf5>(task);
    return write_batches<levin::data::JsonLines>(task);
  } catch (const levin::UsageError& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(Task::parse(line)) << std::endl;
  return 0;
}
