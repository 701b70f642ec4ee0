// The module that reads Parquet files, by Arrow's library: levin opens it when a Parquet data set is first made.
#include <arrow/c/bridge.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <levin/data/tables/module_functions.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

// The same structs, by Arrow's names.
static_assert(sizeof(ColumnSchema) == sizeof(ArrowSchema) && sizeof(ColumnArray) == sizeof(ArrowArray));

constexpr int64_t kLeastMemory = int64_t{1} << 30, kMostBytesPerByte = 1000;

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T value_of(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

/// Makes a limit for the memory of a file's values. It is never freed: a thread of Arrow may let go of a value after
/// the call that read it has returned.
arrow::MemoryPool* make_pool(int64_t most_bytes) {
  static std::mutex mutex;
  static auto& pools = *new std::deque<arrow::CappedMemoryPool>();
  const std::lock_guard lock(mutex);
  return &pools.emplace_back(arrow::default_memory_pool(), most_bytes);
}

class ParquetFile {
 public:
  explicit ParquetFile(const std::string& path)
      : path_(path),
        bytes_(static_cast<int64_t>(std::filesystem::file_size(path))),
        pool_(make_pool(kLeastMemory + bytes_ * kMostBytesPerByte)) {}

  void describe(ColumnSchema* columns);
  void select(const int64_t* columns, int64_t count) { selected_.assign(columns, columns + count); }
  int64_t block_count() const { return metadata_->num_row_groups(); }
  int64_t row_count(int64_t block) const { return metadata_->RowGroup(static_cast<int>(block))->num_rows(); }
  int64_t byte_count(int64_t block) const;
  bool bounds(int64_t block, int64_t column, ColumnBounds& bounds) const;
  void read(int64_t block, const int64_t* columns, int64_t count, ColumnArray* values) const;

 private:
  std::unique_ptr<parquet::arrow::FileReader> reader() const;
  void check_row_groups() const;

  std::string path_;
  int64_t bytes_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<parquet::FileMetaData> metadata_ = {};
  /// Of each column, its leaves: a nested one has a leaf for each number in it.
  std::vector<std::vector<int>> leaves_ = {};
  std::vector<arrow::Type::type> types_ = {};  ///< of each column
  std::vector<int64_t> selected_ = {};
};

/// Opens the file again: so there are no more open files than threads that read.
std::unique_ptr<parquet::arrow::FileReader> ParquetFile::reader() const {
  parquet::arrow::FileReaderBuilder builder;
  check(builder.OpenFile(path_, /*memory_map=*/false, parquet::ReaderProperties(pool_), metadata_));
  parquet::ArrowReaderProperties properties;
  properties.set_use_threads(true);
  const parquet::SchemaDescriptor& schema = *builder.raw_reader()->metadata()->schema();
  // Texts that come again are read as numbers of a dictionary.
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const parquet::ColumnDescriptor& column = *schema.Column(leaf);
    if (column.physical_type() == parquet::Type::BYTE_ARRAY && column.path()->ToDotVector().size() == 1 &&
        column.converted_type() == parquet::ConvertedType::UTF8)
      properties.set_read_dictionary(leaf, true);
  }
  builder.memory_pool(pool_)->properties(properties);
  return value_of(builder.Build());
}

void ParquetFile::check_row_groups() const {
  const int64_t most = bytes_ * kMostValuesPerByte;
  for (int group = 0; group < metadata_->num_row_groups(); ++group) {
    const int64_t rows = metadata_->RowGroup(group)->num_rows();
    if (rows < 0 || rows > most)
      throw std::runtime_error("row group " + std::to_string(group) + " is said to have " + std::to_string(rows) +
                               " rows, more than the file's " + std::to_string(bytes_) + " bytes can hold");
  }
}

void ParquetFile::describe(ColumnSchema* columns) {
  const auto opened = reader();
  metadata_ = opened->parquet_reader()->metadata();
  check_row_groups();
  std::shared_ptr<arrow::Schema> schema;
  check(opened->GetSchema(&schema));
  const parquet::SchemaDescriptor& described = *metadata_->schema();
  for (const auto& field : schema->fields()) types_.push_back(field->type()->id());
  leaves_.resize(types_.size());
  for (int leaf = 0; leaf < described.num_columns(); ++leaf) {
    const int column = described.group_node()->FieldIndex(*described.GetColumnRoot(leaf));
    if (column < 0 || column >= schema->num_fields()) throw std::runtime_error("its schema contradicts itself");
    leaves_[static_cast<size_t>(column)].push_back(leaf);
  }
  check(arrow::ExportSchema(*schema, reinterpret_cast<ArrowSchema*>(columns)));
}

int64_t width_of(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
      return 1;
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
      return 4;
    default:
      return 8;
  }
}

int64_t ParquetFile::byte_count(int64_t block) const {
  int64_t bytes = 0;
  try {
    const auto group = metadata_->RowGroup(static_cast<int>(block));
    for (const int64_t column : selected_)
      for (const int leaf : leaves_[static_cast<size_t>(column)]) {
        const int64_t most = bytes_ * kMostValuesPerByte;
        const int64_t values = std::clamp<int64_t>(group->ColumnChunk(leaf)->num_values(), 0, most);
        bytes += values * width_of(*metadata_->schema()->Column(leaf));
      }
  } catch (const std::exception&) {
    return bytes;  // reading says what is wrong
  }
  return bytes;
}

template <class Type, class Number = typename Type::c_type>
void set_numbers(const parquet::Statistics& statistics, ColumnBounds& bounds) {
  const auto& own = static_cast<const parquet::TypedStatistics<Type>&>(statistics);
  bounds.least = static_cast<Number>(own.min());
  bounds.greatest = static_cast<Number>(own.max());
}

template <class Type>
void set_whole_numbers(const parquet::Statistics& statistics, bool is_unsigned, ColumnBounds& bounds) {
  if (is_unsigned)
    set_numbers<Type, std::make_unsigned_t<typename Type::c_type>>(statistics, bounds);
  else
    set_numbers<Type>(statistics, bounds);
}

void set_texts(const parquet::Statistics& statistics, ColumnBounds& bounds) {
  thread_local std::string least, greatest;
  const auto& own = static_cast<const parquet::ByteArrayStatistics&>(statistics);
  least.assign(reinterpret_cast<const char*>(own.min().ptr), own.min().len);
  greatest.assign(reinterpret_cast<const char*>(own.max().ptr), own.max().len);
  bounds.is_text = 1;
  bounds.least_text = least.data();
  bounds.greatest_text = greatest.data();
  bounds.least_bytes = static_cast<int64_t>(least.size());
  bounds.greatest_bytes = static_cast<int64_t>(greatest.size());
}

/// Statistics hold values as the file has them: those of other types, such as times, are read as something else.
bool ParquetFile::bounds(int64_t block, int64_t column, ColumnBounds& bounds) const {
  const std::vector<int>& leaves = leaves_[static_cast<size_t>(column)];
  if (leaves.size() != 1) return false;
  const auto chunk = metadata_->RowGroup(static_cast<int>(block))->ColumnChunk(leaves.front());
  const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
  if (!statistics || !statistics->HasMinMax()) return false;
  const arrow::Type::type type = types_[static_cast<size_t>(column)];
  const bool is_unsigned = arrow::is_unsigned_integer(type), is_whole = is_unsigned || arrow::is_signed_integer(type);
  switch (statistics->physical_type()) {
    case parquet::Type::BOOLEAN:
      set_numbers<parquet::BooleanType>(*statistics, bounds);
      return type == arrow::Type::BOOL;
    case parquet::Type::INT32:
      set_whole_numbers<parquet::Int32Type>(*statistics, is_unsigned, bounds);
      return is_whole;
    case parquet::Type::INT64:
      set_whole_numbers<parquet::Int64Type>(*statistics, is_unsigned, bounds);
      return is_whole;
    case parquet::Type::FLOAT:
      set_numbers<parquet::FloatType>(*statistics, bounds);
      return type == arrow::Type::FLOAT && bounds.least <= bounds.greatest;
    case parquet::Type::DOUBLE:
      set_numbers<parquet::DoubleType>(*statistics, bounds);
      return type == arrow::Type::DOUBLE && bounds.least <= bounds.greatest;
    case parquet::Type::BYTE_ARRAY:
      set_texts(*statistics, bounds);
      return type == arrow::Type::STRING || type == arrow::Type::LARGE_STRING || type == arrow::Type::DICTIONARY;
    default:
      return false;
  }
}

void ParquetFile::read(int64_t block, const int64_t* columns, int64_t count, ColumnArray* values) const {
  std::vector<int> leaves;
  std::vector<int64_t> in_file(columns, columns + count);  // the table has its columns in the file's order
  std::ranges::sort(in_file);
  for (const int64_t column : in_file) {
    const std::vector<int>& own = leaves_[static_cast<size_t>(column)];
    leaves.insert(leaves.end(), own.begin(), own.end());
  }
  const auto table = value_of(reader()->ReadRowGroup(static_cast<int>(block), leaves));
  const auto batch = value_of(table->CombineChunksToBatch(pool_));
  check(batch->Validate());
  const int64_t rows = row_count(block);
  if (batch->num_rows() != rows || batch->num_columns() != count)
    throw std::runtime_error("holds " + std::to_string(batch->num_rows()) + " rows, and should hold " +
                             std::to_string(rows));
  std::vector<int> order;
  for (int64_t i = 0; i < count; ++i)
    order.push_back(static_cast<int>(std::ranges::find(in_file, columns[i]) - in_file.begin()));
  check(arrow::ExportRecordBatch(*value_of(batch->SelectColumns(order)), reinterpret_cast<ArrowArray*>(values)));
}

}  // namespace
}  // namespace levin::data

LEVIN_TABLE_MODULE(levin::data::ParquetFile)
