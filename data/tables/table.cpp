#include <levin/data/tables/table.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/masked_fill.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace levin::data {
namespace {

constexpr double kGigabyte = 1e9;
constexpr int64_t kMostBytesCounted = int64_t{1} << 60;

std::vector<size_t> sorted_without_repeats(std::vector<size_t> numbers) {
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  return numbers;
}

/// Returns whether any value is NaN. A loop of its own, since LibTorch's threads would wait for one another at each of
/// many columns, and in vain where other threads read too.
template <class T>
bool has_nan(const T* values, int64_t count) {
  constexpr int64_t kPart = 4096;
  for (int64_t begin = 0; begin < count; begin += kPart) {
    int found = 0;
    for (int64_t i = begin; i < std::min(begin + kPart, count); ++i) found |= values[i] != values[i];
    if (found != 0) return true;
  }
  return false;
}

bool has_nan(const at::Tensor& values) {
  return AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, values.scalar_type(), "has_nan",
                                         [&] { return has_nan(values.const_data_ptr<scalar_t>(), values.numel()); });
}

/// NaN is how arrays and tables of numbers say that a value is missing. The values are copied, since they may be
/// shared.
void count_nan_as_missing(TableColumn& column) {
  if (!column.values.is_floating_point() || column.is_list || column.values.dim() > 1 || !has_nan(column.values))
    return;
  const at::Tensor is_nan = column.values.isnan();
  column.values = column.values.masked_fill(is_nan, 0);
  const bool* nan = is_nan.const_data_ptr<bool>();
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < is_nan.numel(); ++row)
    if (nan[row]) rows.push_back(row);
  std::vector<int64_t> all;
  std::ranges::set_union(column.missing, rows, std::back_inserter(all));
  column.missing = std::move(all);
}

std::string kind_of(const TableColumn& column) {
  const std::string what = column.is_text ? "texts" : std::string(c10::toString(column.values.scalar_type()));
  const auto dims = column.values.sizes().slice(1);
  return (column.is_list ? "lists of " : "") + what + (dims.empty() ? "" : c10::str(" ", dims));
}

}  // namespace

Table::Table(std::unique_ptr<TableSource> source, const TableFieldOptions& options, std::string name)
    : source_(std::move(source)),
      name_(std::move(name)),
      fields_(find_table_fields(source_->columns(), options.fields)),
      filter_(options.where, source_->columns()),
      drops_(options.missing == CsvMissing::Drop),
      most_bytes_(static_cast<int64_t>(std::min(options.memory_gb, 1e9) * kGigabyte)) {
  for (const TableField& field : fields_) columns_.insert(columns_.end(), field.columns.begin(), field.columns.end());
  columns_ = sorted_without_repeats(std::move(columns_));
  if (columns_.empty()) throw UsageError(name_, ": has no columns");
  std::vector<size_t> selected = filter_.columns();
  selected.insert(selected.end(), columns_.begin(), columns_.end());
  source_->select(sorted_without_repeats(std::move(selected)));
  for (int64_t block = 0; block < block_count(); ++block) {
    const int64_t bytes = std::clamp<int64_t>(source_->byte_count(block), 0, kMostBytesCounted);
    bytes_ = std::min(bytes_ + bytes, kMostBytesCounted);
    largest_ = std::max(largest_, bytes);
  }
  if (block_count() == 0) throw UsageError(name_, ": has no rows");
  learn_types();
}

void Table::learn_types() {
  std::vector<size_t> unknown = columns_;
  for (int64_t block = 0; block < block_count() && !unknown.empty(); ++block) {
    std::vector<size_t> left;
    for (auto& [number, column] : read(block, unknown)) {
      // Of lists without a value in them the inner ones have no length yet.
      if (column.values.size(0) == 0 && column.values.dim() > 1) left.push_back(number);
      column.words.clear();
      column.ends.clear();
      column.missing.clear();
      column.values = column.values.narrow(0, 0, 0);
      types_[number] = std::move(column);
    }
    for (const size_t number : left)
      if (block + 1 < block_count()) types_.erase(number);
    unknown = std::move(left);
  }
}

void Table::check_type(const TableColumn& column, size_t number, int64_t block) const {
  const auto known = types_.find(number);
  if (known == types_.end()) return;
  const TableColumn& first = known->second;
  const bool has_values = column.values.size(0) > 0;
  const bool is_same = column.is_list == first.is_list && column.is_text == first.is_text &&
                       column.values.scalar_type() == first.values.scalar_type();
  if (is_same && (!has_values || column.values.sizes().slice(1) == first.values.sizes().slice(1))) return;
  throw UsageError(source_->place(block, 0), ": column '", column_name(number), "' holds ", kind_of(column), ", and ",
                   kind_of(first), " at the beginning of ", name_, "; all files must have the same types");
}

TableBlock Table::read(int64_t number, const std::vector<size_t>& columns) const {
  std::vector<TableColumn> values = source_->read(number, columns);
  TableBlock block;
  for (size_t i = 0; i < columns.size(); ++i) {
    check_type(values[i], columns[i], number);
    count_nan_as_missing(values[i]);
    const auto known = types_.find(columns[i]);
    if (known != types_.end() && values[i].values.size(0) == 0) values[i].values = known->second.values;
    block.emplace(columns[i], std::move(values[i]));
  }
  return block;
}

std::shared_ptr<const TableBlock> Table::block(int64_t number) const {
  if (!held_.empty()) return held_[static_cast<size_t>(number)];
  return std::make_shared<const TableBlock>(read(number, columns_));
}

/// Returns false if no row of a block fulfils the option `where`, as the file tells without its values being read.
bool Table::may_have_rows(int64_t number) const {
  std::vector<std::optional<ColumnRange>> ranges;
  for (const size_t column : filter_.columns()) ranges.push_back(source_->range(number, column));
  return filter_.may_match(ranges);
}

std::vector<BlockRows> Table::choose_rows() {
  const bool reads_all = fits_memory() || drops_;
  std::vector<size_t> columns = filter_.columns();
  if (reads_all) columns.insert(columns.end(), columns_.begin(), columns_.end());
  columns = sorted_without_repeats(std::move(columns));
  std::vector<BlockRows> chosen;
  std::vector<std::shared_ptr<const TableBlock>> held;
  for (int64_t number = 0; number < block_count(); ++number) {
    BlockRows& rows = chosen.emplace_back(BlockRows{.all = source_->row_count(number)});
    if (columns.empty()) continue;
    if (!may_have_rows(number)) {
      rows.are_all = false;
      if (fits_memory()) held.push_back(std::make_shared<const TableBlock>(types_));
      continue;
    }
    TableBlock block = read(number, columns);
    if (!filter_.empty() || drops_) {
      std::vector<const TableColumn*> compared;
      for (const size_t column : filter_.columns()) compared.push_back(&block.at(column));
      std::vector<char> keep = filter_.matches(compared, rows.all);
      for (const size_t column : columns_)
        if (drops_)
          for (const int64_t row : block.at(column).missing) keep[static_cast<size_t>(row)] = 0;
      rows.are_all = std::ranges::count(keep, 0) == 0;
      for (size_t i = 0; i < keep.size(); ++i)
        if (!rows.are_all && keep[i]) rows.rows.push_back(static_cast<int64_t>(i));
    }
    if (!fits_memory()) continue;
    std::erase_if(block, [&](const auto& column) { return !std::ranges::binary_search(columns_, column.first); });
    held.push_back(std::make_shared<const TableBlock>(std::move(block)));
  }
  held_ = std::move(held);
  return chosen;
}

}  // namespace levin::data
