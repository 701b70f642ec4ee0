#include <levin/data/datasets/npy.h>
#include <ATen/ops/ones.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/files/npy_file.h>
#include <levin/data/transforms/transform.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

bool is_class_numbers(const at::Tensor& target) {
  return target.dim() == 1 && c10::isIntegralType(target.scalar_type(), /*includeBool=*/false);
}

void check_key(const std::map<std::string, NpyHeader>& headers, const fs::path& file, const std::string& key) {
  if (headers.contains(key)) return;
  std::string text;
  std::vector<std::string> keys;
  for (const auto& [name, header] : headers) {
    keys.push_back(name);
    text += (text.empty() ? "" : ", ") + name;
  }
  throw UsageError(file.string(), ": no array '", key, "'; it holds ", text.empty() ? "nothing" : text,
                   did_you_mean(key, keys));
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
  const auto headers = npz_headers(file);
  std::set<std::string> keys = {input_key};
  if (!target_key.empty()) keys.insert(target_key);
  for (const std::string& key : {input_key, target_key})
    if (keys.contains(key)) check_key(headers, file, key);
  const auto arrays = read_npz(file, keys);
  const auto array = [&](const std::string& key) {
    return Array{arrays.at(key), file.string() + ": array '" + key + "'"};
  };
  return NpyDataset(array(input_key), target_key.empty() ? Array{} : array(target_key));
}

Npy::Npy(Options options) : DatasetModule("Npy", loader_options(options)), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (!options_.val_input.empty() && options_.val_fraction > 0) {
    throw UsageError("data.val_fraction: validation data are given by data.val_input already; set one of the two");
  }
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
  const Inputs& inputs = learned();
  State sizes = State::list();
  for (const int64_t size : inputs.sizes) sizes.push_back(size);
  return State::dict({{"dtype", name_of(inputs.type)}, {"sizes", std::move(sizes)}, {"divide_by", inputs.divisor}});
}

void Npy::load_learned_state(const State& state) {
  Inputs inputs{.type = type_of(state.at("dtype").to_string()), .divisor = state.at("divide_by").to_double()};
  for (const State& size : state.at("sizes").items()) inputs.sizes.push_back(size.to_int());
  learned_ = std::move(inputs);
  train_ = nullptr;
}

std::optional<RawInput> Npy::raw_input() {
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
  if (!is_npz(input)) return std::make_shared<const NpyDataset>(input, target);
  if (!target.empty()) {
    throw UsageError("data.", option, ": ", input, " holds its targets, by data.target_key; ", target,
                     " is one too many");
  }
  return std::make_shared<const NpyDataset>(NpyDataset::from_npz(input, options_.input_key, options_.target_key));
}

DatasetPtr Npy::training_part(Split split) {
  learned();
  if (!train_) train_ = open("input", options_.input, options_.target);
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
