// The module that reads HDF5 files, by the library of that name: levin opens it when an Hdf5 data set is first made.
#include <levin/data/tables/file_rows.h>
#include <levin/data/tables/hdf5_process.h>
#include <levin/data/tables/hdf5_requests.h>
#include <levin/data/tables/hdf5_values.h>
#include <levin/data/tables/module_functions.h>
#include <levin/data/tables/owned_column.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 26;
// What takes longer is caught in a circle: of gzip a second gives 200 MB.
constexpr int64_t kLeastSeconds = 4, kBytesPerSecond = int64_t{1} << 22;

// The most processes that read a block at the same time, and the fewest bytes that one of them reads.
constexpr int64_t kMostParts = 4, kLeastPartBytes = int64_t{1} << 21;

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
    file_rows_ = std::make_unique<FileRows>(path_);
  }

  void describe(ColumnSchema* columns) {
    Message described = processes().run(request(Hdf5Request::Describe), kLeastSeconds).message;
    OwnedType all{.format = "+s"};
    for (std::string name = described.take_text(); !name.empty(); name = described.take_text()) {
      columns_.push_back(take_column(std::move(name), described));
      chunks_.push_back(std::make_unique<Chunks>());
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
    const Rows rows{.begin = block * block_rows_, .count = row_count(block)};
    OwnedColumn all{.length = rows.count};
    all.buffers.emplace_back();
    all.children.resize(static_cast<size_t>(count));
    std::vector<Wanted> compressed, others;  // what no mapping gives
    for (int64_t i = 0; i < count; ++i) {
      const Hdf5Column& own = column(columns[i]);
      OwnedColumn& place = all.children[static_cast<size_t>(i)];
      place = map(own, rows);
      if (place.buffers.empty()) place = copy_chunks(columns[i], rows);
      const bool is_divisible = own.kind == Hdf5Kind::Number && own.is_filtered;
      if (place.buffers.empty()) (is_divisible ? compressed : others).push_back({.column = &own, .values = &place});
    }
    read_in_parts(compressed, rows);
    read_whole(others, rows);
    *values = exported(std::move(all));
  }

 private:
  struct Rows {
    int64_t begin = 0, count = 0;
  };
  struct Wanted {
    const Hdf5Column* column;
    OwnedColumn* values;
  };

  static OwnedColumn numbers(const Hdf5Column& column, int64_t rows, ColumnBuffer bytes) {
    OwnedColumn values{.length = rows * column.width()};
    values.buffers = {{}, std::move(bytes)};
    return nested(std::move(values), column, rows);
  }

  /// Returns values without a copy; none if they do not lie in the file as they do in memory.
  OwnedColumn map(const Hdf5Column& column, const Rows& rows) const {
    if (column.file_place < 0 || column.file_place > bytes_) return {};
    const int64_t row_bytes = column.row_bytes();
    ColumnBuffer bytes =
        file_rows_->map({.begin = column.file_place + rows.begin * row_bytes, .bytes = rows.count * row_bytes});
    return bytes.get() ? numbers(column, rows.count, std::move(bytes)) : OwnedColumn{};
  }

  /// Where the chunks of a column begin, which is asked when it is first read.
  struct Chunks {
    std::once_flag are_asked = {};
    std::vector<int64_t> places = {};  ///< none if the library has to read them
  };

  /// Returns values of chunks that have them as they are in memory; none if they do not.
  OwnedColumn copy_chunks(int64_t number, const Rows& rows) const {
    const Hdf5Column& own = column(number);
    const bool can_be_plain = own.kind == Hdf5Kind::Number && !own.is_filtered && own.chunk_rows > 0;
    if (!can_be_plain || own.chunk_rows > static_cast<hsize_t>(bytes_)) return {};
    Chunks& chunks = *chunks_[static_cast<size_t>(number)];
    std::call_once(chunks.are_asked, [&] { chunks.places = find_chunks(own); });
    if (chunks.places.empty()) return {};
    ColumnBuffer bytes = file_rows_->copy(parts_of(own, chunks.places, rows));
    return bytes.get() ? numbers(own, rows.count, std::move(bytes)) : OwnedColumn{};
  }

  std::vector<int64_t> find_chunks(const Hdf5Column& column) const {
    Message message = request(Hdf5Request::FindChunks);
    put_column(column, message);
    std::vector<int64_t> places;
    try {
      Message answer = processes().run(message, kLeastSeconds).message;
      const int64_t chunk_rows = static_cast<int64_t>(column.chunk_rows), count = answer.take_number();
      if (count != (column.rows() + chunk_rows - 1) / chunk_rows) return {};
      for (int64_t i = 0; i < count; ++i)
        if (places.emplace_back(answer.take_number()) < 0 || places.back() > bytes_) return {};
    } catch (const std::exception&) {  // reading says what is wrong
      return {};
    }
    return places;
  }

  /// Returns where the rows lie in the file; chunks that follow one another there are one part.
  static std::vector<FilePart> parts_of(const Hdf5Column& column, const std::vector<int64_t>& places,
                                        const Rows& rows) {
    const int64_t row_bytes = column.row_bytes(), chunk_rows = static_cast<int64_t>(column.chunk_rows);
    std::vector<FilePart> parts;
    for (int64_t row = rows.begin; row < rows.begin + rows.count;) {
      const int64_t chunk = row / chunk_rows, end = std::min((chunk + 1) * chunk_rows, rows.begin + rows.count);
      const FilePart part{.begin = places[static_cast<size_t>(chunk)] + row % chunk_rows * row_bytes,
                          .bytes = (end - row) * row_bytes};
      if (!parts.empty() && parts.back().begin + parts.back().bytes == part.begin)
        parts.back().bytes += part.bytes;
      else
        parts.push_back(part);
      row = end;
    }
    return parts;
  }

  /// Has a child process read them by the library.
  void read_whole(const std::vector<Wanted>& wanted, const Rows& rows) const {
    if (wanted.empty()) return;
    Message message = request(Hdf5Request::Read);
    for (const int64_t number : {rows.begin, rows.count, std::ssize(wanted)}) message.put(number);
    for (const Wanted& one : wanted) put_column(*one.column, message);
    ChildAnswer answer = processes().run(message, kLeastSeconds + rows.count * row_bytes_ / kBytesPerSecond);
    for (const Wanted& one : wanted) {
      *one.values = take_values(answer.message, answer.memory);
      check_values(*one.values, *one.column, rows.count);
    }
  }

  /// The same for compressed numbers: several processes read rows at once.
  void read_in_parts(const std::vector<Wanted>& wanted, const Rows& rows) const {
    int64_t row_bytes = 0, chunk_rows = 1;
    for (const Wanted& one : wanted) {
      row_bytes += one.column->row_bytes();
      chunk_rows = std::max(chunk_rows, static_cast<int64_t>(one.column->chunk_rows));
    }
    const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
    const int64_t parts = std::clamp<int64_t>(rows.count * row_bytes / kLeastPartBytes, 1, std::min(cores, kMostParts));
    if (parts <= 1 || chunk_rows >= rows.count) return read_whole(wanted, rows);
    const int64_t chunks = (rows.count + chunk_rows - 1) / chunk_rows;
    const int64_t part_rows = (chunks + parts - 1) / parts * chunk_rows;
    std::vector<ColumnBuffer> all;
    for (const Wanted& one : wanted) {
      const int64_t bytes = rows.count * one.column->row_bytes();
      all.push_back({std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(bytes)), bytes});
    }
    const auto read_part = [&](int64_t begin) {
      const Rows part{.begin = rows.begin + begin, .count = std::min(part_rows, rows.count - begin)};
      std::vector<OwnedColumn> values(wanted.size());
      std::vector<Wanted> own = wanted;
      for (size_t i = 0; i < own.size(); ++i) own[i].values = &values[i];
      read_whole(own, part);
      for (size_t i = 0; i < own.size(); ++i) {
        const OwnedColumn* inner = &values[i];
        while (!inner->children.empty()) inner = &inner->children.front();
        const int64_t bytes = own[i].column->row_bytes();
        std::memcpy(all[i].get() + begin * bytes, inner->buffers[1].get(), static_cast<size_t>(part.count * bytes));
      }
    };
    std::vector<std::future<void>> others;
    for (int64_t begin = part_rows; begin < rows.count; begin += part_rows)
      others.push_back(std::async(read_part, begin));  // without a thread if the system permits no more
    read_part(0);
    for (std::future<void>& other : others) other.get();
    for (size_t i = 0; i < wanted.size(); ++i)
      *wanted[i].values = numbers(*wanted[i].column, rows.count, std::move(all[i]));
  }

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
  std::unique_ptr<const FileRows> file_rows_ = {};
  std::vector<Hdf5Column> columns_ = {};
  std::vector<std::unique_ptr<Chunks>> chunks_ = {};  ///< of each column
  int64_t rows_ = 0, row_bytes_ = 0, block_rows_ = 1;
};

}  // namespace
}  // namespace levin::data

LEVIN_TABLE_MODULE(levin::data::Hdf5File)
