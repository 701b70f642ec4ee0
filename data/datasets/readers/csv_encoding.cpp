#include <levin/data/datasets/readers/csv_encoding.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/files/csv_file.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace levin::data {
namespace {

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size()) return {};
  return value;
}

/// Returns the sum of f(value) over the rows that have a value, and their number.
template <class F>
std::pair<double, int64_t> sum_of(const CsvTable& table, const std::vector<int64_t>& rows, size_t feature, const F& f) {
  double sum = 0;
  int64_t count = 0;
  for (const int64_t row : rows) {
    const float value = table.numbers[static_cast<size_t>(row) * table.features.size() + feature];
    if (std::isnan(value)) continue;
    sum += f(static_cast<double>(value));
    ++count;
  }
  return {sum, count};
}

/// Returns the code of each of the file's words; -1 if the vocabulary lacks the word.
std::vector<int64_t> codes_of(const std::vector<std::string>& words, const std::vector<std::string>& vocabulary) {
  std::unordered_map<std::string, int64_t> known;
  for (size_t i = 0; i < vocabulary.size(); ++i) known.emplace(vocabulary[i], static_cast<int64_t>(i));
  std::vector<int64_t> codes;
  for (const std::string& word : words) {
    const auto found = known.find(word);
    codes.push_back(found == known.end() ? -1 : found->second);
  }
  return codes;
}

[[noreturn]] void throw_unknown(const CsvTable& table, int64_t row, const std::string& column, const std::string& word,
                                const char* advice) {
  throw UsageError(table.file, ":", table.lines[static_cast<size_t>(row)], ": column '", column,
                   "': ", shown_field(word), " does not occur in the training data", advice);
}

at::Tensor encode_numbers(const CsvTable& table, const std::vector<int64_t>& rows, const CsvEncoding& encoding,
                          const CsvDatasetOptions& options) {
  const size_t width = table.features.size();
  at::Tensor input = at::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
  auto* out = input.mutable_data_ptr<float>();
  for (const int64_t row : rows) {
    for (size_t i = 0; i < width; ++i) {
      double value = static_cast<double>(table.numbers[static_cast<size_t>(row) * width + i]);
      if (std::isnan(value)) value = options.missing == CsvMissing::Mean ? encoding.mean[i] : 0;
      if (options.standardize) value = (value - encoding.mean[i]) / encoding.stddev[i];
      *out++ = static_cast<float>(value);
    }
  }
  return input;
}

at::Tensor encode_categories(const CsvTable& table, const std::vector<int64_t>& rows, const CsvEncoding& encoding,
                             const CsvDatasetOptions& options) {
  const size_t width = table.categories.size();
  std::vector<std::vector<int64_t>> codes;
  for (size_t i = 0; i < width; ++i) codes.push_back(codes_of(table.words[i].words(), encoding.vocabularies[i]));
  at::Tensor category =
      at::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)}, at::TensorOptions(at::kLong));
  auto* out = category.mutable_data_ptr<int64_t>();
  for (const int64_t row : rows) {
    for (size_t i = 0; i < width; ++i) {
      const auto word = static_cast<size_t>(table.codes[static_cast<size_t>(row) * width + i]);
      int64_t code = codes[i][word];
      if (code < 0 && options.unknown != CsvUnknown::Code) {
        throw_unknown(table, row, table.categories[i], table.words[i].words()[word],
                      "; set --data.unknown code to give such values one code more");
      }
      if (code < 0) code = static_cast<int64_t>(encoding.vocabularies[i].size());
      *out++ = code;
    }
  }
  return category;
}

at::Tensor encode_classes(const CsvTable& table, const std::vector<int64_t>& rows, const CsvEncoding& encoding,
                          const CsvDatasetOptions& options) {
  const std::vector<int64_t> codes = codes_of(table.classes.words(), encoding.class_names);
  at::Tensor target = at::empty({static_cast<int64_t>(rows.size())}, at::TensorOptions(at::kLong));
  auto* out = target.mutable_data_ptr<int64_t>();
  for (const int64_t row : rows) {
    const auto word = static_cast<size_t>(table.target_codes[static_cast<size_t>(row)]);
    if (codes[word] < 0) throw_unknown(table, row, options.target, table.classes.words()[word], "");
    *out++ = codes[word];
  }
  return target;
}

at::Tensor encode_target_numbers(const CsvTable& table, const std::vector<int64_t>& rows) {
  at::Tensor target = at::empty({static_cast<int64_t>(rows.size())});
  auto* out = target.mutable_data_ptr<float>();
  for (const int64_t row : rows) *out++ = table.target_numbers[static_cast<size_t>(row)];
  return target;
}

template <class T>
State list_of(const std::vector<T>& values) {
  State list = State::list();
  for (const T& value : values) list.push_back(State(value));
  return list;
}

std::vector<std::string> texts_of(const State& list) {
  std::vector<std::string> texts;
  for (const State& item : list.items()) texts.push_back(item.to_string());
  return texts;
}

std::vector<double> numbers_of(const State& list) {
  std::vector<double> numbers;
  for (const State& item : list.items()) numbers.push_back(item.to_double());
  return numbers;
}

}  // namespace

std::vector<std::string> sorted_words(std::vector<std::string> words) {
  if (std::ranges::all_of(words, [](const std::string& word) { return whole_number(word).has_value(); })) {
    std::ranges::sort(words, {}, [](const std::string& word) { return std::tuple(*whole_number(word), word); });
  } else {
    std::ranges::sort(words);
  }
  return words;
}

State state_of(const CsvEncoding& encoding) {
  State vocabularies = State::list();
  for (const auto& words : encoding.vocabularies) vocabularies.push_back(list_of(words));
  return State::dict({{"features", list_of(encoding.features)},
                      {"mean", list_of(encoding.mean)},
                      {"std", list_of(encoding.stddev)},
                      {"categories", list_of(encoding.categories)},
                      {"vocabularies", std::move(vocabularies)},
                      {"class_names", list_of(encoding.class_names)}});
}

CsvEncoding csv_encoding_of(const State& state) {
  CsvEncoding encoding{.features = texts_of(state.at("features")),
                       .mean = numbers_of(state.at("mean")),
                       .stddev = numbers_of(state.at("std")),
                       .categories = texts_of(state.at("categories")),
                       .class_names = texts_of(state.at("class_names"))};
  for (const State& words : state.at("vocabularies").items()) encoding.vocabularies.push_back(texts_of(words));
  if (encoding.mean.size() != encoding.features.size() || encoding.stddev.size() != encoding.features.size() ||
      encoding.vocabularies.size() != encoding.categories.size())
    throw Error("an encoding of ", encoding.features.size(), " features and ", encoding.categories.size(),
                " categories, with another number of means, deviations or vocabularies");
  return encoding;
}

CsvEncoding learn_csv_encoding(const CsvTable& table, const std::vector<int64_t>& rows,
                               const CsvDatasetOptions& options) {
  CsvEncoding encoding;
  encoding.features = table.features;
  for (size_t i = 0; i < table.features.size(); ++i) {
    const auto [sum, count] = sum_of(table, rows, i, [](double value) { return value; });
    if (count == 0 && options.missing == CsvMissing::Mean) {
      throw UsageError(table.file, ": column '", table.features[i], "' has no value to take the mean of");
    }
    const double mean = count ? sum / static_cast<double>(count) : 0;
    const double squares = sum_of(table, rows, i, [&](double value) { return (value - mean) * (value - mean); }).first;
    const double stddev = count ? std::sqrt(squares / static_cast<double>(count)) : 0;
    encoding.mean.push_back(mean);
    encoding.stddev.push_back(stddev > 0 ? stddev : 1);
  }
  encoding.categories = table.categories;
  for (const CsvWords& words : table.words) encoding.vocabularies.push_back(sorted_words(words.words()));
  encoding.class_names = sorted_words(table.classes.words());
  return encoding;
}

Batch encode_csv(const CsvTable& table, const std::vector<int64_t>& rows, const CsvEncoding& encoding,
                 const CsvDatasetOptions& options) {
  std::vector<Batch::Item> items;
  if (!table.features.empty()) items.emplace_back("input", encode_numbers(table, rows, encoding, options));
  if (!table.categories.empty()) items.emplace_back("category", encode_categories(table, rows, encoding, options));
  if (!table.target_codes.empty()) items.emplace_back("target", encode_classes(table, rows, encoding, options));
  if (!table.target_numbers.empty()) items.emplace_back("target", encode_target_numbers(table, rows));
  for (const CsvField& field : table.fields)
    if (!field.is_list) items.emplace_back(field.name, fixed_field(field, rows));
  return Batch(std::move(items));
}

}  // namespace levin::data
