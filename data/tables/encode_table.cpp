#include <levin/data/tables/encode_table.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/convert_field.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/loading/copy_rows.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace levin::data {
namespace {

bool is_input_or_target(const std::string& field) { return field == "input" || field == "target"; }

/// The work on one block.
class BlockEncoder {
 public:
  BlockEncoder(const Table& table, int64_t number, const BlockRows& rows, const CsvEncoding& encoding,
               const TableFieldOptions& options)
      : table_(table),
        number_(number),
        rows_(rows),
        encoding_(encoding),
        options_(options),
        block_(table.block(number)) {}

  ArrayFields fields() const {
    ArrayFields made;
    for (const TableField& field : table_.fields()) {
      for (const size_t column : field.columns) check_missing(field, column);
      if (field.columns.size() == 1 && column(field.columns.front()).is_list)
        made.varying.push_back(list_field(field));
      else
        made.fixed.set(field.name, fixed_field_of(field));
    }
    return made;
  }

 private:
  const TableColumn& column(size_t number) const { return block_->at(number); }

  [[noreturn]] void fail(size_t column, int64_t row, const std::string& what) const {
    throw UsageError(table_.place(number_, row), ": column '", table_.column_name(column), "' ", what);
  }

  void check_missing(const TableField& field, size_t number) const {
    const bool is_target = field.name == "target";
    const bool takes_mean =
        options_.missing == CsvMissing::Mean && (column(number).is_text || is_number_row(table_, field));
    if (!is_target && (options_.missing == CsvMissing::Zero || takes_mean)) return;
    const std::vector<int64_t>& missing = column(number).missing;
    for (int64_t i = 0; i < rows_.size() && !missing.empty(); ++i) {
      if (!std::ranges::binary_search(missing, rows_[i])) continue;
      fail(number, rows_[i],
           std::string("lacks a value; set --data.missing to ") + (is_target                      ? "drop"
                                                                   : is_number_row(table_, field) ? "mean, zero or drop"
                                                                                                  : "zero or drop"));
    }
  }

  /// Returns the values of the rows: of lists, those of all of them.
  at::Tensor chosen(const TableColumn& column) const {
    if (rows_.are_all) return column.values;
    std::vector<int64_t> places;
    for (int64_t i = 0; i < rows_.size(); ++i) {
      const auto row = static_cast<size_t>(rows_[i]);
      const int64_t begin = !column.is_list ? rows_[i] : row == 0 ? 0 : column.ends[row - 1];
      const int64_t end = column.is_list ? column.ends[row] : rows_[i] + 1;
      for (int64_t place = begin; place < end; ++place) places.push_back(place);
    }
    at::DimVector sizes(column.values.sizes());
    sizes.front() = static_cast<int64_t>(places.size());
    at::Tensor values = at::empty(sizes, column.values.options());
    copy_rows(column.values, Indices(std::move(places)), values);
    return values;
  }

  /// The code of each of the block's words; -1 if the vocabulary lacks it.
  std::vector<int64_t> codes_of_words(size_t number, bool is_target) const {
    const std::vector<std::string>* vocabulary = &encoding_.class_names;
    if (!is_target) {
      const auto known = std::ranges::find(encoding_.categories, table_.column_name(number));
      if (known == encoding_.categories.end())
        throw UsageError(table_.name(), ": column '", table_.column_name(number),
                         "' holds texts, and held none in training");
      vocabulary = &encoding_.vocabularies[static_cast<size_t>(known - encoding_.categories.begin())];
    }
    std::unordered_map<std::string_view, int64_t> codes;
    for (const std::string& word : *vocabulary) codes.emplace(word, static_cast<int64_t>(codes.size()));
    std::vector<int64_t> found;
    for (const std::string& word : column(number).words) {
      const auto code = codes.find(word);
      const int64_t other =
          options_.unknown == CsvUnknown::Code && !is_target ? static_cast<int64_t>(codes.size()) : -1;
      found.push_back(code == codes.end() ? other : code->second);
    }
    return found;
  }

  at::Tensor codes(size_t number, bool is_target) const {
    const TableColumn& texts = column(number);
    const std::vector<int64_t> codes = codes_of_words(number, is_target);
    const at::Tensor places = chosen(texts);
    at::Tensor result = at::empty(places.sizes(), at::TensorOptions(at::kLong));
    const auto* place = places.const_data_ptr<int64_t>();
    auto* out = result.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < places.numel(); ++i) {
      const auto word = static_cast<size_t>(place[i]);
      out[i] = codes[word];
      if (codes[word] < 0)
        throw UsageError(table_.place(number_, row_with(texts, place[i])), ": column '", table_.column_name(number),
                         "': ", shown_field(texts.words[word]), " does not occur in the training data",
                         is_target ? "" : "; set --data.unknown code to give such values one code more");
    }
    return result;
  }

  /// The first of the rows with this word.
  int64_t row_with(const TableColumn& texts, int64_t word) const {
    const auto* place = texts.values.const_data_ptr<int64_t>();
    const int64_t width = texts.values.numel() / texts.values.size(0);
    for (int64_t i = 0; i < rows_.size(); ++i) {
      const auto row = static_cast<size_t>(rows_[i]);
      const int64_t begin = !texts.is_list ? rows_[i] : row == 0 ? 0 : texts.ends[row - 1];
      const int64_t end = texts.is_list ? texts.ends[row] : rows_[i] + 1;
      if (std::count(place + begin * width, place + end * width, word) > 0) return rows_[i];
    }
    return 0;
  }

  at::Tensor values_of(const TableField& field, size_t number) const {
    const bool is_target = field.name == "target";
    if (column(number).is_text) return codes(number, is_target);
    at::Tensor values = chosen(column(number));
    if (options_.field_options.dtypes.values().contains(field.name)) return values;
    if (values.is_floating_point() && is_input_or_target(field.name)) return values.to(at::kFloat);
    const bool is_class =
        is_target && values.dim() == 1 && c10::isIntegralType(values.scalar_type(), /*includeBool=*/false);
    return is_class && !column(number).is_list ? convert_field(values, at::kLong, field.name) : values;
  }

  VaryingField list_field(const TableField& field) const {
    const size_t number = field.columns.front();
    VaryingField varying{.name = field.name, .values = values_of(field, number)};
    int64_t end = 0;
    for (int64_t i = 0; i < rows_.size(); ++i) {
      const auto row = static_cast<size_t>(rows_[i]);
      const std::vector<int64_t>& ends = column(number).ends;
      varying.ends.push_back(end += ends[row] - (row == 0 ? 0 : ends[row - 1]));
    }
    return varying;
  }

  at::Tensor fixed_field_of(const TableField& field) const {
    if (is_number_row(table_, field)) return number_rows(field);
    const bool is_row = field.name == "category" && column(field.columns.front()).is_text;
    if (field.columns.size() == 1 && !is_row) return values_of(field, field.columns.front());
    std::vector<at::Tensor> parts;
    for (const size_t number : field.columns) {
      if (column(number).is_list || column(number).values.dim() > 1)
        throw UsageError("data.fields: '", field.name, "': column '", table_.column_name(number),
                         "' holds lists; name it alone for a field");
      parts.push_back(values_of(field, number));
      if (column(number).is_text != column(field.columns.front()).is_text)
        throw UsageError("data.fields: '", field.name, "' has columns of numbers and columns of texts");
    }
    at::ScalarType type = parts.front().scalar_type();
    for (const at::Tensor& part : parts)
      if (part.scalar_type() != type) type = at::kDouble;
    at::Tensor all = at::empty({rows_.size(), static_cast<int64_t>(parts.size())}, at::TensorOptions(type));
    for (size_t i = 0; i < parts.size(); ++i) all.select(1, static_cast<int64_t>(i)).copy_(parts[i]);
    return all;
  }

  /// `input` of numbers: computed in float64 and rounded once.
  at::Tensor number_rows(const TableField& field) const {
    const auto width = static_cast<int64_t>(field.columns.size());
    at::Tensor all = at::empty({rows_.size(), width}, at::TensorOptions(at::kDouble));
    auto* const out = all.mutable_data_ptr<double>();
    for (int64_t i = 0; i < width; ++i) {
      const size_t number = field.columns[static_cast<size_t>(i)];
      const TableColumn& own = column(number);
      const at::Tensor numbers = own.values.to(at::kDouble);
      const auto* value = numbers.const_data_ptr<double>();
      const auto learned =
          std::ranges::find(encoding_.features, table_.column_name(number)) - encoding_.features.begin();
      const bool is_learned = learned < std::ssize(encoding_.features);
      const double mean = is_learned ? encoding_.mean[static_cast<size_t>(learned)] : 0;
      const double stddev = is_learned ? encoding_.stddev[static_cast<size_t>(learned)] : 1;
      const double in_gaps = options_.missing == CsvMissing::Mean ? mean : 0;
      for (int64_t row = 0; row < rows_.size(); ++row) {
        const bool is_gap = !own.missing.empty() && std::ranges::binary_search(own.missing, rows_[row]);
        const double number_of_row = is_gap ? in_gaps : value[rows_[row]];
        out[row * width + i] = options_.standardize ? (number_of_row - mean) / stddev : number_of_row;
      }
    }
    return options_.field_options.dtypes.values().contains(field.name) ? all : all.to(at::kFloat);
  }

  const Table& table_;
  int64_t number_;
  const BlockRows& rows_;
  const CsvEncoding& encoding_;
  const TableFieldOptions& options_;
  std::shared_ptr<const TableBlock> block_;
};

}  // namespace

bool is_number_row(const Table& table, const TableField& field) {
  return field.name == "input" &&
         std::ranges::all_of(field.columns, [&](size_t column) { return table.is_number(column); });
}

ArrayFields encode_table(const Table& table, int64_t number, const BlockRows& rows, const CsvEncoding& encoding,
                         const TableFieldOptions& options) {
  return BlockEncoder(table, number, rows, encoding, options).fields();
}

}  // namespace levin::data
