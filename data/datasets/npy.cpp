#include <levin/data/datasets/npy.h>
#include <levin/data/files/npy_file.h>
#include <levin/data/transforms/transform.h>
#include <levin/trainer/core/system/error.h>

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

bool is_class_numbers(const at::Tensor& target) {
  return target.dim() == 1 && c10::isIntegralType(target.scalar_type(), /*includeBool=*/false);
}

const at::Tensor& array_of(const std::map<std::string, at::Tensor>& arrays, const fs::path& file,
                           const std::string& key) {
  const auto found = arrays.find(key);
  if (found != arrays.end()) return found->second;
  std::string text;
  std::vector<std::string> keys;
  for (const auto& [name, array] : arrays) {
    keys.push_back(name);
    text += (text.empty() ? "" : ", ") + name;
  }
  throw UsageError(file.string(), ": no array '", key, "'; it holds ", text.empty() ? "nothing" : text,
                   did_you_mean(key, keys));
}

/// Class numbers stay.
void make_float32(Batch& batch) {
  const at::Tensor& input = batch.input();
  const at::Tensor numbers = input.to(at::kFloat);
  batch.set("input", input.scalar_type() == at::kByte ? numbers.div(255) : numbers);
  if (batch.contains("target") && batch.target().scalar_type() != at::kLong)
    batch.set("target", batch.target().to(at::kFloat));
}

bool is_npz(const fs::path& file) { return file.extension() == ".npz"; }

}  // namespace

TensorDataset NpyDataset::rows_of(const Array& input, const Array& target) {
  for (const Array* array : {&input, &target}) {
    if (array->values.defined() && array->values.dim() == 0) {
      throw UsageError(array->name, ": a single value; dimension 0 must count the samples");
    }
  }
  if (!target.values.defined()) return TensorDataset(input.values);
  if (input.values.size(0) != target.values.size(0)) {
    throw UsageError(input.values.size(0), " samples in ", input.name, ", but ", target.values.size(0), " targets in ",
                     target.name);
  }
  return TensorDataset(input.values, is_class_numbers(target.values) ? target.values.to(at::kLong) : target.values);
}

NpyDataset::NpyDataset(const Array& input, const Array& target) : rows_(rows_of(input, target)) {}

NpyDataset::NpyDataset(const fs::path& input, const fs::path& target)
    : NpyDataset(Array{map_npy(input), input.string()},
                 target.empty() ? Array{} : Array{map_npy(target), target.string()}) {}

NpyDataset NpyDataset::from_npz(const fs::path& file, const std::string& input_key, const std::string& target_key) {
  const auto arrays = read_npz(file);
  const auto array = [&](const std::string& key) {
    return Array{array_of(arrays, file, key), file.string() + ": array '" + key + "'"};
  };
  return NpyDataset(array(input_key), target_key.empty() ? Array{} : array(target_key));
}

Npy::Npy(Options options) : DatasetModule("Npy", loader_options(options)), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (!options_.val_input.empty() && options_.val_fraction > 0) {
    throw UsageError("data.val_fraction: validation data are given by data.val_input already; set one of the two");
  }
}

DatasetPtr Npy::open(const std::string& option, const std::string& input, const std::string& target) const {
  DatasetPtr saved = read(option, input, target);
  if (!saved || options_.dtype == "saved") return saved;
  return std::make_shared<const TransformedDataset>(
      std::move(saved), std::make_shared<const Lambda>([](Batch& batch, std::span<Rng>) { make_float32(batch); }));
}

DatasetPtr Npy::read(const std::string& option, const std::string& input, const std::string& target) const {
  if (input.empty() && target.empty()) return nullptr;
  if (input.empty()) throw UsageError("data.", option, ": not set, but its targets are: ", target);
  if (!is_npz(input)) return std::make_shared<const NpyDataset>(input, target);
  if (!target.empty()) {
    throw UsageError("data.", option, ": ", input, " holds its targets, by data.target_key; ", target,
                     " is one too many");
  }
  return std::make_shared<const NpyDataset>(NpyDataset::from_npz(input, options_.input_key, options_.target_key));
}

DatasetPtr Npy::training_part(Split split) {
  if (!train_) train_ = open("input", options_.input, options_.target);
  if (!train_) throw UsageError("data.input: not set; it names the file of the training inputs");
  if (options_.val_fraction <= 0) return split == Split::Train ? train_ : nullptr;
  auto parts = random_split(train_, {1 - options_.val_fraction, options_.val_fraction}, options_.split_seed);
  return std::make_shared<const Subset>(std::move(parts[split == Split::Train ? 0 : 1]));
}

DatasetPtr Npy::make_dataset(Split split) {
  switch (split) {
    case Split::Train:
      return training_part(split);
    case Split::Val:
      if (options_.val_fraction > 0) return training_part(split);
      return open("val_input", options_.val_input, options_.val_target);
    case Split::Test:
    case Split::Predict:
      return open("test_input", options_.test_input, options_.test_target);
  }
  return nullptr;
}

}  // namespace levin::data
