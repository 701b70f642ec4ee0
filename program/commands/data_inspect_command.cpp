#include <ATen/Context.h>
#include <levin/core/system/error.h>
#include <levin/core/system/heap.h>
#include <levin/data/dataset_module.h>
#include <levin/data/files/contact_sheet.h>
#include <levin/data/files/image_file.h>
#include <levin/data/remote/output_place.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/inspect_loader.h>
#include <levin/program/config/run_options.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <utility>

namespace levin::cli {
namespace {

constexpr double kSeconds = 10;

struct InspectFlags {
  std::string sheet = LEVIN_OPTION(sheet, "contact_sheet.png", "The picture of the first training batch, a PNG file");
  std::optional<int64_t> batches = LEVIN_OPTION(
      batches, {}, "Read this number of batches of each loader; unset: all, but not for longer than 10 seconds",
      {.min = 1});

  InspectLimits limits() const {
    return batches ? InspectLimits{.batches = *batches} : InspectLimits{.seconds = kSeconds};
  }
};

struct SplitLoaders {
  data::Split split;
  Stage stage;
  data::Loaders (data::DataModule::*loaders)();
};

constexpr std::array<SplitLoaders, 4> kSplits = {
    {{data::Split::Train, Stage::Fit, &data::DataModule::train_dataloader},
     {data::Split::Val, Stage::Fit, &data::DataModule::val_dataloader},
     {data::Split::Test, Stage::Test, &data::DataModule::test_dataloader},
     {data::Split::Predict, Stage::Predict, &data::DataModule::predict_dataloader}}};

/// Returns the labels under the images: class names or numbers. The texts are empty unless there is one target per
/// image.
std::vector<std::string> labels_of(const Batch& batch, const std::vector<std::string>& class_names) {
  std::vector<std::string> labels(static_cast<size_t>(batch.input().size(0)));
  if (!batch.contains("target") || batch.is_list("target")) return labels;
  const at::Tensor& target = batch.target();
  if (target.dim() != 1 || target.size(0) != batch.input().size(0) || target.is_complex()) return labels;
  const bool are_classes = at::isIntegralType(target.scalar_type(), /*includeBool=*/true);
  for (size_t i = 0; i < labels.size(); ++i) {
    const at::Tensor value = target[static_cast<int64_t>(i)];
    labels[i] = are_classes ? class_text(value.item<int64_t>(), class_names) : c10::str(value.item<float>());
  }
  return labels;
}

void write_sheet(const Batch& batch, const std::vector<std::string>& class_names, const std::string& path) {
  if (batch.is_own() || !batch.contains("input") || batch.is_list("input")) {
    std::cout << "no contact sheet: the first training batch has no tensor `input`\n";
  } else if (!data::can_be_drawn(batch.input())) {
    std::cout << "no contact sheet: the training input is " << data::describe(batch.input())
              << ", not images [samples, 1 or 3, height, width]\n";
  } else {
    data::write_png(path, data::contact_sheet(batch.input(), labels_of(batch, class_names)));
    std::cout << "contact sheet of the first training batch: " << path << "\n";
  }
}

void inspect_part(data::DataModule& data, const SplitLoaders& part, const RunOptions& options,
                  const InspectFlags& flags) {
  data::Loaders loaders = (data.*part.loaders)();
  const std::string name = data::to_text(part.split);
  if (loaders.empty()) std::cout << name << ": none\n";
  for (size_t i = 0; i < loaders.size(); ++i) {
    data::Loader& loader = loaders[i];
    if (options.trainer.seed) loader.set_default_seed(static_cast<uint64_t>(*options.trainer.seed));
    LoaderFindings findings = inspect(loader, flags.limits());
    const data::DatasetPtr dataset = dataset_of(data, part.split);
    const std::vector<std::string> class_names = class_names_of(data, dataset);
    if (dataset && loaders.size() == 1) findings.samples_per_epoch = dataset->size();
    print_findings(std::cout, loaders.size() == 1 ? name : name + " " + std::to_string(i), findings, class_names);
    if (part.split == data::Split::Train && i == 0 && findings.batches > 0) {
      write_sheet(findings.first, class_names, flags.sheet);
    }
    std::cout.flush();
  }
}

int run_inspect(const InspectFlags& flags, const Words& words) {
  require_local("--sheet", flags.sheet);
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "data inspect", words);
  const ReadOptions options = read_run_options(line.config);
  if (line.flags.print_config) {
    std::cout << config_text(options, line.config) << std::flush;
    return 0;
  }
  if (!options.data) {
    throw UsageError("data.class: missing; name the data with --data.class (`levin list data` shows them)");
  }
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  std::optional<HeapRetention> heap;  // data are read as fast as in a run
  if (options.trainer.keep_freed_memory) heap.emplace();
  const auto data = options.data.make("data");
  data->prepare_data();
  for (const SplitLoaders& part : kSplits) {
    data->setup(part.stage);
    inspect_part(*data, part, options, flags);
    data->teardown(part.stage);
  }
  return 0;
}

}  // namespace

Command data_inspect_command() {
  return make_command({.name = "data inspect",
                       .summary = "Show what the loaders of a config's data give, and draw the first training batch",
                       .rest = Rest::ConfigFlags,
                       .values = {{"sheet", "FILE"}}},
                      run_inspect);
}

}  // namespace levin::cli
