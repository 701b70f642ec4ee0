// For fields_python_test.py: writes the training batches of a data module.
//
//   fields_tool CLASS OPTIONS OUT RANK WORLD [SKIP]
//     Writes OUT/RANK.BATCH.NAME.npy for each field. OPTIONS are JSON. SKIP is a number of batches that a first loader
//     reads; a second loader continues from its state. An error is printed, and the exit code is 3.
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/csv.h>
#include <levin/data/datasets/npy.h>
#include <levin/data/datasets/tar.h>
#include <levin/data/files/npy_file.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Place {
  int64_t rank = 0, world = 1, skip = 0;
};

template <class Module>
void write_batches(const std::string& options, const std::filesystem::path& out, const Place& place) {
  typename Module::Options given;
  levin::schema_of<typename Module::Options>().set(&given, "data", nlohmann::ordered_json::parse(options));
  Module module(given);
  module.setup(levin::Stage::Fit);
  const levin::data::Loaders first = module.train_dataloader(), second = module.train_dataloader();
  for (const levin::data::Loaders* loaders : {&first, &second}) (*loaders)[0].shard(place.rank, place.world);
  first[0].set_epoch(1);
  for (int64_t i = 0; i < place.skip; ++i) first[0].next();
  if (place.skip > 0) second[0].load_state_dict(first[0].state_dict());
  levin::data::Loader& loader = place.skip > 0 ? second[0] : first[0];
  for (int64_t number = place.skip;; ++number) {
    const auto loaded = loader.next();
    if (!loaded) break;
    if (loaded->absent) continue;
    for (const std::string& name : loaded->batch.names())
      levin::data::write_npy(out / (std::to_string(place.rank) + "." + std::to_string(number) + "." + name + ".npy"),
                             loaded->batch[name]);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6) return 2;
  const std::string name = argv[1];
  const Place place = {std::stoll(argv[4]), std::stoll(argv[5]), argc > 6 ? std::stoll(argv[6]) : 0};
  if (name == "Npy") write_batches<levin::data::Npy>(argv[2], argv[3], place);
  if (name == "Csv") write_batches<levin::data::Csv>(argv[2], argv[3], place);
  if (name == "Tar") write_batches<levin::data::Tar>(argv[2], argv[3], place);
  return 0;
} catch (const levin::UsageError& error) {
  std::printf("%s\n", error.what());
  return 3;
}
