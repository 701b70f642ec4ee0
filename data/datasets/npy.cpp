#include <levin/data/datasets/npy.h>
#include <ATen/ops/ones.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/array_files.h>
#include <levin/data/datasets/readers/length_groups.h>
#include <levin/data/files/npy_file.h>
#include <levin/data/files/npz_file.h>
#include <levin/data/transforms/transform.h>

#include <array>
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

/// Class numbers stay.
void make_float32(Batch& batch, double divisor) {
  const at::Tensor numbers = batch.input().to(at::kFloat);
  batch.set("input", divisor == 1 ? numbers : numbers.div(divisor));
  if (batch.contains("target") && batch.target().scalar_type() != at::kLong)
    batch.set("target", batch.target().to(at::kFloat));
}

constexpr std::array<std::pair<const char*, at::ScalarType>, 9> kTypes = {{{"uint8", at::kByte},
                                                                           {"int8", at::kChar},
                                                                           {"int16", at::kShort},
                                                                           {"int32", at::kInt},
                                                                           {"int64", at::kLong},
                                                                           {"float16", at::kHalf},
                                                                           {"float32", at::kFloat},
                                                                           {"float64", at::kDouble},
                                                                           {"bool", at::kBool}}};

std::string name_of(at::ScalarType type) {
  for (const auto& [name, known] : kTypes)
    if (known == type) return name;
  return c10::toString(type);
}

at::ScalarType type_of(const std::string& name) {
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  return at::kFloat;
}

bool is_npz(const fs::path& file) { return file.extension() == ".npz"; }

}  // namespace

FieldDataset NpyDataset::rows_of(const Array& input, const Array& target, const FieldOptions& options) {
  for (const Array* array : {&input, &target}) {
    if (array->values.defined() && array->values.dim() == 0) {
      throw UsageError(array->name, ": a single value; dimension 0 must count the samples");
    }
  }
  if (!target.values.defined()) return FieldDataset(Batch(input.values), {}, options);
  if (input.values.size(0) != target.values.size(0)) {
    throw UsageError(input.values.size(0), " samples in ", input.name, ", but ", target.values.size(0), " targets in ",
                     target.name);
  }
  const bool is_classes = is_class_numbers(target.values);
  return FieldDataset(Batch(input.values, is_classes ? target.values.to(at::kLong) : target.values), {}, options);
}

NpyDataset::NpyDataset(const fs::path& input, const fs::path& target, const FieldOptions& options)
    : NpyDataset(rows_of({map_npy(input), input.string()},
                         target.empty() ? Array{} : Array{map_npy(target), target.string()}, options)) {}

NpyDataset NpyDataset::from_npz(const fs::path& file, const std::string& input_key, const std::string& target_key,
                                const FieldOptions& options) {
  const NpzFile arrays(file);
  const auto array = [&](const std::string& key) {
    return Array{arrays.array(key), file.string() + ": array '" + key + "'"};
  };
  return NpyDataset(rows_of(array(input_key), target_key.empty() ? Array{} : array(target_key), options));
}

NpyDataset NpyDataset::from_arrays(const TextTable& files, const FieldOptions& options, const std::string& option) {
  ArrayFields fields = open_arrays(files, option);
  return NpyDataset(FieldDataset(std::move(fields.fixed), std::move(fields.varying), options));
}

Npy::Npy(Options options) : DatasetModule("Npy", loader_options(options)), options_(std::move(options)) {
  check_options();
}

bool Npy::has_named_arrays() const {
  return !options_.arrays.empty() || !options_.val_arrays.empty() || !options_.test_arrays.empty();
}

void Npy::check_options() const {
  schema_of<Options>().check(&options_, "data");
  if (!options_.group_by_length.empty()) check_length_groups("data.group_by_length", options_.shuffle);
  if (!options_.val_input.empty() && options_.val_fraction > 0) {
    throw UsageError("data.val_fraction: validation data are given by data.val_input already; set one of the two");
  }
  if (!has_named_arrays()) return;
  if (!options_.val_arrays.empty() && options_.val_fraction > 0)
    throw UsageError("data.val_fraction: validation data are given by data.val_arrays already; set one of the two");
  const std::array<std::pair<const char*, const std::string*>, 6> files = {{{"input", &options_.input},
                                                                            {"target", &options_.target},
                                                                            {"val_input", &options_.val_input},
                                                                            {"val_target", &options_.val_target},
                                                                            {"test_input", &options_.test_input},
                                                                            {"test_target", &options_.test_target}}};
  for (const auto& [name, value] : files)
    if (!value->empty())
      throw UsageError("data.", name, ": the fields are named by data.arrays, data.val_arrays and data.test_arrays; ",
                       "name this file there");
  if (options_.dtype != NpyType::Saved)
    throw UsageError("data.dtype: with data.arrays the types are those of data.dtypes, by field");
}

Npy::Inputs Npy::describe(const Dataset& saved) const {
  const at::Tensor& input = dynamic_cast<const NpyDataset&>(saved).tensors().input();
  const double own = input.scalar_type() == at::kByte ? 255 : 1;
  return {input.sizes().slice(1).vec(), input.scalar_type(), options_.divide_by > 0 ? options_.divide_by : own};
}

const Npy::Inputs& Npy::learned() {
  if (!learned_) {
    const DatasetPtr saved = read("input", options_.input, options_.target);
    if (!saved) throw UsageError("data.input: not set; it names the file of the training inputs");
    learned_ = describe(*saved);
  }
  return *learned_;
}

State Npy::learned_state() {
  if (has_named_arrays()) return {};
  const Inputs& inputs = learned();
  State sizes = State::list();
  for (const int64_t size : inputs.sizes) sizes.push_back(size);
  return State::dict({{"dtype", name_of(inputs.type)}, {"sizes", std::move(sizes)}, {"divide_by", inputs.divisor}});
}

void Npy::load_learned_state(const State& state) {
  if (has_named_arrays()) return;
  Inputs inputs{.type = type_of(state.at("dtype").to_string()), .divisor = state.at("divide_by").to_double()};
  for (const State& size : state.at("sizes").items()) inputs.sizes.push_back(size.to_int());
  learned_ = std::move(inputs);
  train_ = nullptr;
}

std::optional<RawInput> Npy::raw_input() {
  if (has_named_arrays()) return {};
  const Inputs& inputs = learned();
  std::vector<int64_t> sizes = inputs.sizes;
  sizes.insert(sizes.begin(), 2);
  RawInput raw{.example = Batch(at::ones(sizes, at::TensorOptions(inputs.type))),
               .meaning = "input: " + name_of(inputs.type) + ", as in the file"};
  raw.prepare = [divisor = inputs.divisor, converts = options_.dtype == NpyType::Float32](const Batch& batch) {
    Batch prepared = batch;
    if (converts) make_float32(prepared, divisor);
    return prepared;
  };
  return raw;
}

DatasetPtr Npy::open(const std::string& option, const std::string& input, const std::string& target) const {
  DatasetPtr saved = read(option, input, target);
  if (!saved || options_.dtype == NpyType::Saved) return saved;
  const Inputs own = describe(*saved);
  const double divisor = learned_ ? learned_->divisor : own.divisor;
  if (learned_ && own.type != learned_->type)
    console::warn(input + " holds " + name_of(own.type) + ", the training inputs are " + name_of(learned_->type) +
                  (divisor == 1 ? "" : c10::str("; both are divided by ", divisor)));
  const auto convert = [divisor](Batch& batch, std::span<Rng>) { make_float32(batch, divisor); };
  return std::make_shared<const TransformedDataset>(std::move(saved), std::make_shared<const Lambda>(convert));
}

DatasetPtr Npy::read(const std::string& option, const std::string& input, const std::string& target) const {
  if (input.empty() && target.empty()) return nullptr;
  if (input.empty()) throw UsageError("data.", option, ": not set, but its targets are: ", target);
  if (!is_npz(input)) return std::make_shared<const NpyDataset>(input, target, options_.field_options);
  if (!target.empty()) {
    throw UsageError("data.", option, ": ", input, " holds its targets, by data.target_key; ", target,
                     " is one too many");
  }
  return std::make_shared<const NpyDataset>(
      NpyDataset::from_npz(input, options_.input_key, options_.target_key, options_.field_options));
}

DatasetPtr Npy::open_named(const TextTable& files, const std::string& option) const {
  if (files.empty()) return nullptr;
  return std::make_shared<const NpyDataset>(NpyDataset::from_arrays(files, options_.field_options, option));
}

DatasetPtr Npy::training_part(Split split) {
  if (has_named_arrays()) {
    if (options_.arrays.empty()) throw UsageError("data.arrays: not set; it names the files of the training arrays");
    if (!train_) train_ = open_named(options_.arrays, "data.arrays");
  } else {
    learned();
    if (!train_) train_ = open("input", options_.input, options_.target);
  }
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
      if (has_named_arrays()) return open_named(options_.val_arrays, "data.val_arrays");
      return open("val_input", options_.val_input, options_.val_target);
    case Split::Test:
    case Split::Predict:
      if (has_named_arrays()) return open_named(options_.test_arrays, "data.test_arrays");
      return open("test_input", options_.test_input, options_.test_target);
  }
  return nullptr;
}

Loaders Npy::train_dataloader() {
  const DatasetPtr& samples = dataset(Split::Train);
  if (options_.group_by_length.empty() || !samples) return DatasetModule::train_dataloader();
  const auto* const rows = dynamic_cast<const NpyDataset*>(train_.get());
  if (!rows)
    throw UsageError(
        "data.group_by_length: the fields of data.input and data.target have one length; name data.arrays");
  std::vector<int64_t> lengths = rows->lengths(options_.group_by_length, "data.group_by_length");
  if (const auto* const part = dynamic_cast<const Subset*>(samples.get())) {
    std::vector<int64_t> kept;
    for (const int64_t index : part->indices()) kept.push_back(lengths[static_cast<size_t>(index)]);
    lengths = std::move(kept);
  }
  DataLoaderOptions loader = loader_options(options_);
  loader.batch_size = *batch_size();
  return length_grouped_loader(samples, std::move(loader), std::move(lengths));
}

}  // namespace levin::data
