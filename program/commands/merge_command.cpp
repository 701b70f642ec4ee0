#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/transformers/merge_adapter.h>
#include <levin/program/commands/commands.h>

#include <filesystem>
#include <iostream>

namespace levin::cli {
namespace {

struct MergeFlags {
  std::string base = LEVIN_OPTION(base, "", "Folder of the model: config.json and *.safetensors");
  std::string adapter =
      LEVIN_OPTION(adapter, "", "Folder of the adapter: adapter_config.json and adapter_model.safetensors");
  std::string out = LEVIN_OPTION(out, "", "Folder that gets the model with the adapter in its weights");
};

/// Returns whether two options name one folder, here or in a bucket.
bool are_one_folder(std::string one, std::string other) {
  for (std::string* place : {&one, &other})
    while (place->ends_with('/') && place->size() > 1) place->pop_back();
  if (is_on_server(one) || is_on_server(other)) return one == other;
  std::error_code ignored;
  return std::filesystem::equivalent(local_path(one), local_path(other), ignored);
}

int run_merge(const MergeFlags& flags, const Words& /*words*/) {
  for (const auto& [flag, value] :
       {std::pair("--base", &flags.base), std::pair("--adapter", &flags.adapter), std::pair("--out", &flags.out)})
    if (value->empty()) throw UsageError(flag, ": missing");
  if (are_one_folder(flags.base, flags.out))
    throw UsageError("--out: this is the folder of --base, whose files are read meanwhile; name another one");
  const OutputPlace place("--out", flags.out);
  const int64_t layers = merge_adapter(local_folder(flags.base), local_folder(flags.adapter), place.path());
  place.finish();
  std::cout << flags.out << ": the model of " << flags.base << " with the adapters of " << layers << " layers"
            << std::endl;
  return 0;
}

}  // namespace

Command merge_command() {
  return make_command(
      {.name = "merge",
       .summary = "Write a pretrained model with a LoRA adapter in its weights",
       .usage = "--base FOLDER --adapter FOLDER --out FOLDER",
       .about = R"(The folders are those of transformers' and PEFT's save_pretrained, or of a run's `adapter`.)",
       .values = {{"base", "FOLDER"}, {"adapter", "FOLDER"}, {"out", "FOLDER"}}},
      run_merge);
}

}  // namespace levin::cli
