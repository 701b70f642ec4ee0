#include <levin/data/tables/json_column.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <limits>

namespace levin::data {
namespace {

using Leaf = JsonType::Leaf;

constexpr size_t kMostShown = 40;

std::string shown_value(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "...";
}

Leaf leaf_of(const nlohmann::json& value) {
  if (value.is_boolean()) return Leaf::Bool;
  if (value.is_string()) return Leaf::Text;
  const bool is_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value.is_number_integer() && !is_large) return Leaf::Whole;
  return value.is_number() ? Leaf::Number : Leaf::Unknown;
}

const char* name_of(Leaf leaf) {
  switch (leaf) {
    case Leaf::Bool:
      return "true or false";
    case Leaf::Whole:
      return "whole numbers";
    case Leaf::Number:
      return "numbers";
    case Leaf::Text:
      return "texts";
    case Leaf::Unknown:
      break;
  }
  return "nothing";
}

bool is_number(Leaf leaf) { return leaf == Leaf::Whole || leaf == Leaf::Number; }

template <class T>
at::Tensor tensor_of(const std::vector<T>& values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions(type));
  std::ranges::copy(values, static_cast<T*>(tensor.mutable_data_ptr()));
  return tensor;
}

}  // namespace

void JsonType::add(const nlohmann::json& value, const std::string& place) { add(value, 0, place); }

void JsonType::add(const nlohmann::json& value, int at, const std::string& place) {
  if (value.is_null()) return;
  if (value.is_array()) {
    if (depth == at && leaf == Leaf::Unknown) ++depth;
    if (at >= depth) throw UsageError(place, " is a list, and ", name_of(leaf), " before");
    for (const nlohmann::json& item : value) add(item, at + 1, place);
    return;
  }
  const Leaf own = leaf_of(value);
  if (own == Leaf::Unknown)
    throw UsageError(place, " is ", shown_value(value),
                     "; expected a number, true or false, a text, or lists of these");
  if (at < depth) throw UsageError(place, " is ", shown_value(value), ", and a list before");
  if (is_number(own) && is_number(leaf)) {
    leaf = own == leaf ? leaf : Leaf::Number;
    return;
  }
  if (leaf != Leaf::Unknown && leaf != own)
    throw UsageError(place, " is ", shown_value(value), ", and ", name_of(leaf), " before");
  leaf = own;
}

int64_t JsonColumn::place_of(const std::string& word) {
  const auto [found, is_new] = places_.try_emplace(word, static_cast<int64_t>(column_.words.size()));
  if (is_new) column_.words.push_back(word);
  return found->second;
}

void JsonColumn::add_missing() {
  lacks_ = true;
  ++items_;
  if (type_.leaf == Leaf::Number || type_.leaf == Leaf::Unknown)
    numbers_.push_back(0);
  else
    whole_.push_back(type_.leaf == Leaf::Text ? place_of("") : 0);
}

void JsonColumn::add_leaf(const nlohmann::json& value, const std::string& place) {
  const Leaf own = leaf_of(value);
  const bool fits = own == type_.leaf || (own == Leaf::Whole && type_.leaf == Leaf::Number);
  if (!fits && own == Leaf::Number && type_.leaf == Leaf::Whole)
    throw UsageError(place, " is ", shown_value(value),
                     ", and the first lines have whole numbers; name a type for it, such "
                     "as float32, in data.dtypes");
  if (!fits) throw UsageError(place, " is ", shown_value(value), ", and the first lines have ", name_of(type_.leaf));
  ++items_;
  if (type_.leaf == Leaf::Number)
    numbers_.push_back(value.get<double>());
  else if (type_.leaf == Leaf::Text)
    whole_.push_back(place_of(value.get_ref<const std::string&>()));
  else
    whole_.push_back(type_.leaf == Leaf::Bool ? value.get<bool>() : value.get<int64_t>());
}

void JsonColumn::add_nested(const nlohmann::json& value, int depth, const std::string& place) {
  if (depth == type_.depth) {
    if (value.is_null()) return add_missing();
    return add_leaf(value, place);
  }
  if (!value.is_array()) throw UsageError(place, " is ", shown_value(value), ", and a list in the first lines");
  if (depth > 0) {
    int64_t& size = sizes_[static_cast<size_t>(depth) - 1];
    const auto own = static_cast<int64_t>(value.size());
    if (size < 0) size = own;
    if (size != own)
      throw UsageError(place, ": its inner lists have ", size, " and ", own, " values; only the outermost may differ");
  }
  for (const nlohmann::json& item : value) add_nested(item, depth + 1, place);
}

void JsonColumn::add(const nlohmann::json* value, const std::string& place) {
  lacks_ = !value || value->is_null();
  if (!lacks_)
    add_nested(*value, 0, place);
  else if (type_.depth == 0)
    add_missing();
  if (lacks_) column_.missing.push_back(rows_);
  ++rows_;
  if (type_.depth > 0) column_.ends.push_back(items_);
}

TableColumn JsonColumn::take() {
  const bool is_float = type_.leaf == Leaf::Number || type_.leaf == Leaf::Unknown;
  column_.is_list = type_.depth > 0;
  column_.is_text = type_.leaf == Leaf::Text;
  column_.values = is_float ? tensor_of(numbers_, at::kDouble) : tensor_of(whole_, at::kLong);
  if (type_.leaf == Leaf::Bool) column_.values = column_.values.to(at::kBool);
  std::vector<int64_t> sizes = {0};
  int64_t width = 1;
  for (const int64_t size : sizes_) {
    sizes.push_back(std::max<int64_t>(size, 0));
    width *= sizes.back();
  }
  if (width > 0) {
    sizes.front() = items_ / width;
    for (int64_t& end : column_.ends) end /= width;
  }
  column_.values = column_.values.view(sizes);
  return std::move(column_);
}

}  // namespace levin::data
