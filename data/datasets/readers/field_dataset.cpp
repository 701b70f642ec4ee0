#include <levin/data/datasets/readers/field_dataset.h>
#include <ATen/ops/ones.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/datasets/readers/convert_field.h>
#include <levin/data/datasets/readers/pad_rows.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

constexpr const char* kMaskName = "attention_mask";

int64_t samples_of(const Batch& fixed, const std::vector<VaryingField>& varying) {
  const int64_t samples =
      varying.empty() || !fixed.empty() ? fixed.size() : static_cast<int64_t>(varying.front().ends.size());
  for (const VaryingField& field : varying) {
    const auto own = static_cast<int64_t>(field.ends.size());
    if (own != samples) throw UsageError("'", field.name, "' has ", own, " samples, and the other fields ", samples);
  }
  return samples;
}

}  // namespace

FieldDataset::FieldDataset(Batch fixed, std::vector<VaryingField> varying, const FieldOptions& options,
                           std::vector<std::string> class_names)
    : fixed_(std::move(fixed)),
      varying_(std::move(varying)),
      size_(samples_of(fixed_.tensors(), varying_)),
      class_names_(std::move(class_names)),
      types_(field_types_of(options)),
      pad_(options.pad.values()),
      masked_(options.attention_mask) {
  check_options(options);
}

bool FieldDataset::has(const std::string& name) const {
  return tensors().contains(name) || std::ranges::count(varying_, name, &VaryingField::name) > 0;
}

std::string FieldDataset::fields_text() const {
  std::vector<std::string> names = tensors().names();
  for (const VaryingField& field : varying_) names.push_back(field.name);
  return names.empty() ? "none" : joined(names);
}

void FieldDataset::check_options(const FieldOptions& options) const {
  for (const auto& [name, type] : types_)
    if (!has(name)) throw UsageError("data.dtypes: there is no field '", name, "'; the fields are ", fields_text());
  for (const auto& [name, value] : pad_) {
    if (!has(name)) throw UsageError("data.pad: there is no field '", name, "'; the fields are ", fields_text());
    if (tensors().contains(name)) throw UsageError("data.pad: the rows of '", name, "' all have one length");
  }
  if (options.attention_mask.empty()) return;
  if (!pad_.contains(masked_))
    throw UsageError("data.attention_mask: '", masked_, "' is no field that data.pad fills up");
  if (has(kMaskName)) throw UsageError("data.attention_mask: the data have a field of this name already");
}

at::Tensor FieldDataset::row(const VaryingField& field, int64_t index) const {
  if (index < 0 || index >= size_)
    throw Error("sample ", index, " was asked for, but the dataset has ", size_, "; the sampler is of other data");
  const auto at = static_cast<size_t>(index);
  const int64_t begin = at == 0 ? 0 : field.ends[at - 1];
  return field.values.narrow(0, begin, field.ends[at] - begin);
}

Batch FieldDataset::get(int64_t index, Rng& rng) const {
  Batch sample = tensors().empty() ? Batch() : fixed_.get(index, rng);
  for (const VaryingField& field : varying_) sample.set(field.name, row(field, index));
  for (const auto& [name, type] : types_) sample.set(name, convert_field(sample[name], type, name));
  if (!masked_.empty()) sample.set(kMaskName, at::ones({sample[masked_].size(0)}, at::TensorOptions(at::kLong)));
  return sample;
}

at::Tensor FieldDataset::padded(const VaryingField& field, const Indices& indices, Batch& out) const {
  std::vector<at::Tensor> rows;
  for (const int64_t index : indices) rows.push_back(row(field, index));
  const auto value = pad_.find(field.name);
  return pad_rows(rows, field.name, value == pad_.end() ? std::nullopt : std::optional(value->second), out);
}

at::Tensor FieldDataset::mask(const Indices& indices, Batch& out) const {
  const VaryingField& field = *std::ranges::find(varying_, masked_, &VaryingField::name);
  std::vector<int64_t> lengths;
  for (const int64_t index : indices) lengths.push_back(row(field, index).size(0));
  return mask_of_lengths(lengths, kMaskName, out);
}

void FieldDataset::get_batch(const Indices& indices, Batch& out) const {
  std::vector<Batch::Item> items;
  for (const VaryingField& field : varying_) items.emplace_back(field.name, padded(field, indices, out));
  if (!masked_.empty()) items.emplace_back(kMaskName, mask(indices, out));
  if (tensors().empty())
    out = Batch();
  else
    fixed_.get_batch(indices, out);
  for (auto& [name, value] : items) out.set(name, std::move(value.tensor));
  for (const auto& [name, type] : types_) out.set(name, convert_field(out[name], type, name));
}

std::vector<int64_t> FieldDataset::lengths(const std::string& name, const std::string& option) const {
  const auto field = std::ranges::find(varying_, name, &VaryingField::name);
  if (field == varying_.end())
    throw UsageError(option, ": '", name, "' is no field whose rows have different lengths; the fields are ",
                     fields_text());
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < size_; ++i) lengths.push_back(row(*field, i).size(0));
  return lengths;
}

}  // namespace levin::data
