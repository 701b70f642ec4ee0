// The module that reads HDF5 files, by the library of that name: levin opens it when an Hdf5 data set is first made.
#include <levin/data/tables/hdf5_process.h>
#include <levin/data/tables/hdf5_requests.h>
#include <levin/data/tables/hdf5_values.h>
#include <levin/data/tables/module_functions.h>
#include <levin/data/tables/owned_column.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace levin::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 26;
// What takes longer is caught in a circle: of gzip a second gives 200 MB.
constexpr int64_t kLeastSeconds = 4, kBytesPerSecond = int64_t{1} << 22;

/// The processes that have the library. They end with this one, which may still read when it ends.
ChildProcesses& processes() {
  static auto& all = *new ChildProcesses(answer_hdf5);
  return all;
}

class Hdf5File {
 public:
  /// `text` is "file.h5", or "file.h5:group".
  explicit Hdf5File(const std::string& text) {
    const size_t colon = text.rfind(':');
    std::error_code ignored;
    const bool has_group = colon != text.npos && !std::filesystem::exists(text, ignored);
    path_ = std::filesystem::absolute(has_group ? text.substr(0, colon) : text);
    group_ = has_group ? text.substr(colon + 1) : "";
    if (!group_.starts_with('/')) group_.insert(0, 1, '/');
    if (group_ == "/") group_.clear();
    bytes_ = static_cast<int64_t>(std::filesystem::file_size(path_));
  }

  void describe(ColumnSchema* columns) {
    Message described = processes().run(request(Hdf5Request::Describe), kLeastSeconds).message;
    OwnedType all{.format = "+s"};
    for (std::string name = described.take_text(); !name.empty(); name = described.take_text()) {
      columns_.push_back(take_column(std::move(name), described));
      all.children.push_back(type_of(columns_.back()));
    }
    *columns = exported(all);
  }

  void select(const int64_t* columns, int64_t count) {
    rows_ = row_bytes_ = 0;
    int64_t chunk_rows = 1;
    for (int64_t i = 0; i < count; ++i) {
      const Hdf5Column &own = column(columns[i]), &first = column(columns[0]);
      if (own.rows() != first.rows())
        throw std::runtime_error("data set '" + own.name + "' has " + std::to_string(own.rows()) + " samples, and '" +
                                 first.name + "' has " + std::to_string(first.rows()) +
                                 "; name those that belong together in data.fields");
      rows_ = own.rows();
      row_bytes_ += own.row_bytes();
      chunk_rows = std::max(chunk_rows, static_cast<int64_t>(own.chunk_rows));
    }
    const int64_t row_bytes = std::max<int64_t>(row_bytes_, 1);
    if (rows_ > bytes_ * kMostValuesPerByte / row_bytes)
      throw std::runtime_error("is said to have " + std::to_string(rows_) + " samples of " + std::to_string(row_bytes) +
                               " bytes, more than the file's " + std::to_string(bytes_) + " bytes can hold");
    block_rows_ = std::max<int64_t>(1, kBlockBytes / row_bytes);
    // Chunks are read whole.
    if (chunk_rows <= block_rows_) block_rows_ -= block_rows_ % chunk_rows;
  }

  int64_t block_count() const { return (rows_ + block_rows_ - 1) / block_rows_; }
  int64_t row_count(int64_t block) const { return std::min(block_rows_, rows_ - block * block_rows_); }
  int64_t byte_count(int64_t block) const { return row_count(block) * row_bytes_; }

  void read(int64_t block, const int64_t* columns, int64_t count, ColumnArray* values) const {
    const int64_t rows = row_count(block);
    Message message = request(Hdf5Request::Read);
    for (const int64_t number : {block * block_rows_, rows, count}) message.put(number);
    for (int64_t i = 0; i < count; ++i) put_column(column(columns[i]), message);
    ChildAnswer answer = processes().run(message, kLeastSeconds + byte_count(block) / kBytesPerSecond);
    OwnedColumn all{.length = rows};
    all.buffers.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      all.children.push_back(take_values(answer.message, answer.memory));
      check_values(all.children.back(), column(columns[i]), rows);
    }
    *values = exported(std::move(all));
  }

 private:
  const Hdf5Column& column(int64_t number) const { return columns_[static_cast<size_t>(number)]; }

  Message request(Hdf5Request what) const {
    Message message;
    message.put(static_cast<int64_t>(what));
    message.put(path_);
    message.put(group_);
    return message;
  }

  std::string path_ = {}, group_ = {};
  int64_t bytes_ = 0;
  std::vector<Hdf5Column> columns_ = {};
  int64_t rows_ = 0, row_bytes_ = 0, block_rows_ = 1;
};

}  // namespace
}  // namespace levin::data

LEVIN_TABLE_MODULE(levin::data::Hdf5File)
