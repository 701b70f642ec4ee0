#include <levin/program/commands/example_batches.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

namespace levin::cli {
namespace {

/// Returns a batch of two samples of these sizes: "3,224,224", "int64:128".
Batch example_of(const std::string& text) {
  const bool is_whole = text.starts_with("int64:");
  std::vector<int64_t> sizes = {2};
  std::istringstream in(is_whole ? text.substr(6) : text);
  for (std::string part; std::getline(in, part, ',');) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1)
      throw UsageError("--example: expected sizes of one sample, such as 3,224,224 or int64:128, got ", text);
    sizes.push_back(size);
  }
  return Batch(is_whole ? at::zeros(sizes, at::kLong) : at::randn(sizes));
}

/// A stage of the data, and its loaders.
struct DataSource {
  Stage stage;
  data::Loaders (data::DataModule::*loaders)();
};
constexpr DataSource kPrediction = {Stage::Predict, &data::DataModule::predict_dataloader};
constexpr DataSource kValidation = {Stage::Fit, &data::DataModule::val_dataloader};
constexpr DataSource kTraining = {Stage::Fit, &data::DataModule::train_dataloader};

/// Calls `visit` with batches of the first source that has any, until it returns false. The sources' order is that of
/// `sources`: data may have files for the last one alone.
void visit_batches(data::DataModule& data, const std::vector<DataSource>& sources,
                   const std::function<bool(const Batch&)>& visit) {
  data.prepare_data();
  for (size_t i = 0; i < sources.size(); ++i) {
    bool has_any = false;
    try {
      data.setup(sources[i].stage);
      const data::Loaders loaders = (data.*sources[i].loaders)();
      if (loaders.empty()) continue;
      while (const std::optional<data::LoadedBatch> loaded = loaders[0].next()) {
        has_any = true;
        if (!visit(loaded->batch)) return;
      }
    } catch (const UsageError&) {
      if (has_any || i + 1 == sources.size()) throw;
    }
    if (has_any) return;
  }
  throw UsageError("levin export: the data has no batch; give the sizes of a sample by --example");
}

Batch first_batch(data::DataModule& data) {
  Batch first;
  visit_batches(data, {kPrediction, kValidation, kTraining}, [&](const Batch& batch) {
    first = batch;
    return false;
  });
  return first;
}

}  // namespace

Batch example_batch(data::DataModule* data, const std::string& sizes) {
  if (!sizes.empty()) return example_of(sizes);
  if (data == nullptr)
    throw UsageError("--example: missing; give the sizes of one sample, such as 3,224,224, or a config with data");
  return first_batch(*data);
}

Batch raw_example(const Batch& raw, const std::string& sizes) {
  Batch example = example_of(sizes);
  constexpr int64_t kBytes = 256;
  if (raw.input().scalar_type() == at::kByte)
    example.set("input", at::randint(kBytes, example.input().sizes(), at::TensorOptions(at::kByte)));
  return example;
}

std::vector<Batch> batches_to_calibrate_by(data::DataModule& data, int64_t most) {
  std::vector<Batch> batches;
  visit_batches(data, {kValidation, kTraining}, [&](const Batch& batch) {
    batches.push_back(batch);
    return static_cast<int64_t>(batches.size()) < most;
  });
  return batches;
}

void visit_validation_batches(data::DataModule& data, const std::function<void(const Batch&)>& visit) {
  visit_batches(data, {kValidation, kTraining}, [&](const Batch& batch) {
    visit(batch);
    return true;
  });
}

}  // namespace levin::cli
