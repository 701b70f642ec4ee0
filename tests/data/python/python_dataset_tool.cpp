// For python_dataset_test.py and benchmarks/python_dataset.py: reads the batches of a PythonDataset.
//
//   python_dataset_tool OPTIONS OUT JOB...
//     Writes to OUT.0, OUT.1, ..., for torch.load, the batches that each job reads: a list of dicts with samples, last,
//     absent, fields. OPTIONS and jobs are JSON; a job has
//       split           "train", if it is not given
//       rank, world, epoch
//       skip            batches that a first loader reads; a second one continues from its state
//       first_rank, first_world    those of the first loader, if they differ
//       rate            prints the samples per second of the second of two epochs, and writes nothing
//       again           after an error, reads on
//     An error is printed to standard output, and the exit code is 3.
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/python_dataset.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using Json = nlohmann::ordered_json;
using levin::Batch;
using levin::State;
using levin::data::Loader;
using levin::data::Loaders;

State state_of(const Batch& batch) {
  State fields = State::dict();
  for (const std::string& name : batch.names()) {
    if (!batch.is_list(name)) {
      fields[name] = batch[name];
      continue;
    }
    State items = State::list();
    for (const Batch& sample : batch.list(name)) items.push_back(state_of(sample));
    fields[name] = items;
  }
  return fields;
}

levin::Stage stage_of(const std::string& split) {
  return split == "test" ? levin::Stage::Test : split == "predict" ? levin::Stage::Predict : levin::Stage::Fit;
}

Loaders loaders_of(levin::data::PythonDataset& module, const std::string& split) {
  module.setup(stage_of(split));
  if (split == "val") return module.val_dataloader();
  if (split == "test") return module.test_dataloader();
  return split == "predict" ? module.predict_dataloader() : module.train_dataloader();
}

void print_rate(Loader& loader) {
  double seconds = 0;
  int64_t samples = 0;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.set_epoch(epoch);
    const auto start = std::chrono::steady_clock::now();
    samples = 0;
    while (const auto loaded = loader.next()) samples += loaded->samples;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::printf("%.1f\n", static_cast<double>(samples) / seconds);
}

State read_rest(Loader& loader, bool again) {
  State batches = State::list();
  while (true) {
    try {
      const auto loaded = loader.next();
      if (!loaded) return batches;
      batches.push_back(State::dict({{"samples", loaded->samples},
                                     {"last", loaded->last},
                                     {"absent", loaded->absent},
                                     {"fields", state_of(loaded->batch)}}));
      std::fprintf(stderr, "a batch\n");
    } catch (const levin::Error& error) {
      if (!again) throw;
      std::printf("%s\n", error.what());
    }
  }
}

void run(levin::data::PythonDataset& module, const Json& job, const std::string& out) {
  const auto number = [&](const char* key, int64_t otherwise) { return job.value(key, otherwise); };
  const auto split = job.value("split", std::string("train"));
  const Loaders first = loaders_of(module, split), second = loaders_of(module, split);
  if (first.empty()) return levin::save_state(State("none"), out);
  const int64_t rank = number("rank", 0), world = number("world", 1), skip = number("skip", 0);
  first[0].shard(number("first_rank", rank), number("first_world", world));
  if (job.contains("rate")) return print_rate(first[0]);
  first[0].set_epoch(number("epoch", 0));
  for (int64_t i = 0; i < skip; ++i) first[0].next();
  if (skip == 0) return levin::save_state(read_rest(first[0], job.contains("again")), out);
  second[0].shard(rank, world);
  second[0].load_state_dict(first[0].state_dict());
  levin::save_state(read_rest(second[0], job.contains("again")), out);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) return 2;
  levin::data::PythonDatasetOptions options;
  levin::schema_of<levin::data::PythonDatasetOptions>().set(&options, "data", Json::parse(argv[1]));
  levin::data::PythonDataset module(options);
  module.prepare_data();
  for (int i = 3; i < argc; ++i) run(module, Json::parse(argv[i]), argv[2] + ("." + std::to_string(i - 3)));
} catch (const levin::UsageError& error) {
  std::printf("UsageError: %s\n", error.what());
  return 3;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 3;
}
