#include <levin/data/tables/learn_table.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tables/encode_table.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace levin::data {
namespace {

/// The mean of values and the sum of their squared distances from it, gathered block by block. Source: Chan, Golub and
/// LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void add(const Moments& other) {
    if (other.count == 0) return;
    const double all = count + other.count, distance = other.mean - mean;
    mean += distance * other.count / all;
    squares += other.squares + distance * distance * count * other.count / all;
    count = all;
  }
};

Moments moments_of(const TableColumn& column, const BlockRows& rows) {
  const at::Tensor numbers = column.values.to(at::kDouble);
  const auto* values = numbers.const_data_ptr<double>();
  Moments moments;
  const auto for_each = [&](const auto& take) {
    for (int64_t i = 0; i < rows.size(); ++i)
      if (!std::ranges::binary_search(column.missing, rows[i])) take(values[rows[i]]);
  };
  for_each([&](double value) {
    moments.mean += value;
    ++moments.count;
  });
  if (moments.count > 0) moments.mean /= moments.count;
  for_each([&](double value) { moments.squares += (value - moments.mean) * (value - moments.mean); });
  return moments;
}

/// Adds the words of the rows that are samples.
void add_words(const TableColumn& column, const BlockRows& rows, std::set<std::string>& words) {
  std::vector<char> used(column.words.size(), 0);
  const auto* place = column.values.const_data_ptr<int64_t>();
  const int64_t width = column.values.size(0) == 0 ? 0 : column.values.numel() / column.values.size(0);
  for (int64_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    const int64_t begin = !column.is_list ? rows[i] : row == 0 ? 0 : column.ends[row - 1];
    const int64_t end = column.is_list ? column.ends[row] : rows[i] + 1;
    for (int64_t at = begin * width; at < end * width; ++at) used[static_cast<size_t>(place[at])] = 1;
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) words.insert(column.words[i]);
}

std::vector<std::string> vocabulary_of(const std::set<std::string>& words, const std::string& column) {
  for (const std::string& word : words)
    if (!is_utf8(word)) throw UsageError("column '", column, "' holds bytes that are no text in UTF-8");
  return sorted_words({words.begin(), words.end()});
}

}  // namespace

CsvEncoding learn_table(const Table& table, const std::vector<BlockRows>& train, const std::vector<BlockRows>& all,
                        const TableFieldOptions& options) {
  const bool needs_moments = options.standardize || options.missing == CsvMissing::Mean;
  std::vector<size_t> features, texts, classes;
  for (const TableField& field : table.fields())
    for (const size_t column : field.columns) {
      if (table.is_text(column))
        (field.name == "target" ? classes : texts).push_back(column);
      else if (is_number_row(table, field))
        features.push_back(column);
    }
  std::vector<Moments> moments(features.size());
  std::vector<std::set<std::string>> words(texts.size());
  std::set<std::string> class_words;
  const bool needs_blocks = needs_moments || !texts.empty() || !classes.empty();
  for (int64_t number = 0; needs_blocks && number < table.block_count(); ++number) {
    const auto at = static_cast<size_t>(number);
    if (all[at].size() == 0) continue;
    const auto block = table.block(number);
    for (size_t i = 0; needs_moments && i < features.size(); ++i)
      moments[i].add(moments_of(block->at(features[i]), train[at]));
    for (size_t i = 0; i < texts.size(); ++i) add_words(block->at(texts[i]), all[at], words[i]);
    for (const size_t column : classes) add_words(block->at(column), all[at], class_words);
  }
  CsvEncoding encoding;
  for (size_t i = 0; i < features.size(); ++i) {
    const std::string& name = table.column_name(features[i]);
    if (moments[i].count == 0 && options.missing == CsvMissing::Mean)
      throw UsageError(table.name(), ": column '", name, "' has no value to take the mean of");
    const double stddev = moments[i].count > 0 ? std::sqrt(moments[i].squares / moments[i].count) : 0;
    encoding.features.push_back(name);
    encoding.mean.push_back(moments[i].mean);
    encoding.stddev.push_back(stddev > 0 ? stddev : 1);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    encoding.categories.push_back(table.column_name(texts[i]));
    encoding.vocabularies.push_back(vocabulary_of(words[i], encoding.categories.back()));
  }
  if (!classes.empty()) encoding.class_names = vocabulary_of(class_words, table.column_name(classes.front()));
  return encoding;
}

}  // namespace levin::data
