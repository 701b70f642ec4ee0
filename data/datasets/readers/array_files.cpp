#include <levin/data/datasets/readers/array_files.h>
#include <levin/core/system/error.h>
#include <levin/data/files/npy_file.h>
#include <levin/data/files/npz_file.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace levin::data {
namespace {

constexpr std::string_view kLengthsEnding = "_lengths", kNpz = ".npz";

struct NamedArray {
  at::Tensor values = {};
  std::string place = {};  // for messages
};

/// Opens each .npz file once.
class OpenNpzFiles {
 public:
  const NpzFile& at(const std::string& file) {
    std::unique_ptr<NpzFile>& opened = files_[file];
    if (!opened) opened = std::make_unique<NpzFile>(file);
    return *opened;
  }

 private:
  std::map<std::string, std::unique_ptr<NpzFile>> files_ = {};
};

/// A .npz file and the array that a text names; the latter is empty if it names none, and so is the former for a .npy.
std::pair<std::string, std::string> npz_and_array(const std::string& text) {
  if (text.ends_with(kNpz)) return {text, ""};
  const size_t colon = text.rfind(':');
  if (colon == text.npos || !std::string_view(text).substr(0, colon).ends_with(kNpz)) return {};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::map<std::string, NamedArray> open_all(const TextTable& files, const std::string& option) {
  std::map<std::string, NamedArray> arrays;
  OpenNpzFiles npz;
  std::vector<std::pair<std::string, std::string>> taken;
  for (const auto& [field, text] : files.values()) {
    if (field == "*") continue;
    const auto [file, given] = npz_and_array(text);
    const std::string name = given.empty() ? field : given;
    if (text.empty()) throw UsageError(option, ": '", field, "' names no file");
    if (file.empty())
      arrays[field] = {map_npy(text), text};
    else
      arrays[field] = {npz.at(file).array(name), file + ": array '" + name + "'"};
    taken.emplace_back(file, name);
  }
  const auto all = files.values().find("*");
  if (all == files.values().end()) return arrays;
  const auto [file, none] = npz_and_array(all->second);
  if (file.empty() || !none.empty())
    throw UsageError(option, ": '*' stands for all arrays of a .npz file, and it is ", all->second);
  for (const std::string& name : npz.at(file).names()) {
    if (arrays.contains(name) || std::ranges::count(taken, std::pair(file, name)) > 0) continue;
    arrays[name] = {npz.at(file).array(name), file + ": array '" + name + "'"};
  }
  return arrays;
}

std::vector<int64_t> ends_of(const NamedArray& lengths, const NamedArray& rows) {
  const at::Tensor& values = lengths.values;
  if (values.dim() != 1 || !c10::isIntegralType(values.scalar_type(), /*includeBool=*/false))
    throw UsageError(lengths.place, ": ", values.scalar_type(), " ", values.sizes(),
                     "; lengths are one whole number for each sample");
  if (rows.values.dim() == 0) throw UsageError(rows.place, ": a single value; dimension 0 must count rows");
  const at::Tensor numbers = values.to(at::kLong).contiguous();
  const int64_t all = rows.values.size(0);
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    const int64_t length = numbers.const_data_ptr<int64_t>()[i];
    if (length < 0 || length > all - end)
      throw UsageError(lengths.place, ": sample ", i, " has the length ", length, ", and ", all - end, " of the ", all,
                       " rows of ", rows.place, " are left");
    ends.push_back(end += length);
  }
  if (end != all)
    throw UsageError(lengths.place, ": the lengths add up to ", end, ", and ", rows.place, " has ", all, " rows");
  return ends;
}

bool are_class_numbers(const at::Tensor& target) {
  return target.dim() == 1 && c10::isIntegralType(target.scalar_type(), /*includeBool=*/false);
}

}  // namespace

ArrayFields open_arrays(const TextTable& files, const std::string& option) {
  const std::map<std::string, NamedArray> arrays = open_all(files, option);
  if (arrays.empty()) throw UsageError(option, ": names no array");
  ArrayFields fields;
  int64_t samples = -1;
  std::string first;
  const auto check_samples = [&](int64_t own, const std::string& place) {
    if (samples >= 0 && own != samples) throw UsageError(own, " samples in ", place, ", but ", samples, " in ", first);
    samples = own;
    first = place;
  };
  for (const auto& [name, array] : arrays) {
    const bool is_lengths =
        name.ends_with(kLengthsEnding) && arrays.contains(name.substr(0, name.size() - kLengthsEnding.size()));
    if (is_lengths) continue;
    if (const auto lengths = arrays.find(name + std::string(kLengthsEnding)); lengths != arrays.end()) {
      fields.varying.push_back({name, array.values, ends_of(lengths->second, array)});
      check_samples(static_cast<int64_t>(fields.varying.back().ends.size()), lengths->second.place);
      continue;
    }
    if (array.values.dim() == 0) throw UsageError(array.place, ": a single value; dimension 0 must count the samples");
    check_samples(array.values.size(0), array.place);
    const bool is_classes = name == "target" && are_class_numbers(array.values);
    fields.fixed.set(name, is_classes ? array.values.to(at::kLong) : array.values);
  }
  return fields;
}

}  // namespace levin::data
