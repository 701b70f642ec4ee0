// The module that reads HDF5 files, by the library of that name: levin opens it when an Hdf5 data set is first made.
#include <levin/data/tables/hdf5_handle.h>
#include <levin/data/tables/hdf5_process.h>
#include <levin/data/tables/hdf5_values.h>
#include <levin/data/tables/module_errors.h>
#include <levin/data/tables/module_interface.h>
#include <levin/data/tables/owned_column.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 26;
constexpr size_t kMostDatasets = 10000;
// What takes longer is caught in a circle: of gzip a second gives 200 MB.
constexpr int64_t kLeastSeconds = 4, kBytesPerSecond = int64_t{1} << 22;

struct Hdf5File {
  std::string path = {}, group = {};
  int64_t bytes = 0;
  std::vector<Hdf5Column> columns = {};
  int64_t rows = 0, row_bytes = 0, block_rows = 1;
};

Hdf5Handle open_path(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "is no HDF5 file that can be read"};
}

herr_t refuse_other_file(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

Hdf5Handle open_dataset(hid_t file, const Hdf5File& opened, const std::string& name) {
  const std::string path = opened.group + "/" + name;
  // A link to another file is not followed.
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "its access cannot be set");
  hdf5_checked(H5Pset_elink_cb(access, refuse_other_file, nullptr), "its access cannot be set");
  return {H5Dopen2(file, path.c_str(), access), H5Dclose, "data set '" + name + "' cannot be opened"};
}

/// The names of all data sets below a group.
std::vector<std::string> dataset_names(hid_t group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5O_info_t* info, void* into) -> herr_t {
    auto& found = *static_cast<std::vector<std::string>*>(into);
    if (info->type == H5O_TYPE_DATASET) found.emplace_back(name);
    return found.size() > kMostDatasets ? -1 : 0;
  };
  hdf5_checked(H5Ovisit(group, H5_INDEX_NAME, H5_ITER_INC, add, &names), "its data sets cannot be listed");
  return names;
}

/// Divides "file.h5:group" into the two.
void set_path(const std::string& text, Hdf5File& file) {
  const size_t colon = text.rfind(':');
  std::error_code ignored;
  const bool has_group = colon != text.npos && !std::filesystem::exists(text, ignored);
  file.path = has_group ? text.substr(0, colon) : text;
  file.group = has_group ? text.substr(colon + 1) : "";
  if (!file.group.starts_with('/')) file.group.insert(0, 1, '/');
  if (file.group == "/") file.group.clear();
  file.bytes = static_cast<int64_t>(std::filesystem::file_size(file.path));
}

/// Describes all data sets of a file, in the child process.
Message described(const Hdf5File& file) {
  const Hdf5Handle handle = open_path(file.path);
  const Hdf5Handle group(H5Gopen2(handle, file.group.empty() ? "/" : file.group.c_str(), H5P_DEFAULT), H5Gclose,
                         "has no group '" + file.group + "'");
  Message message;
  for (const std::string& name : dataset_names(group)) {
    const Hdf5Handle dataset = open_dataset(handle, file, name);
    Hdf5Column column;
    try {
      column = describe_hdf5(dataset, name);
    } catch (const std::exception& error) {
      throw std::runtime_error("data set '" + name + "': " + error.what());
    }
    if (column.shape.empty()) continue;  // a single value
    message.put(name);
    message.put(static_cast<int64_t>(column.kind));
    message.put(column.format);
    message.put(column.item_bytes);
    message.put(static_cast<int64_t>(column.chunk_rows));
    message.put(static_cast<int64_t>(column.shape.size()));
    for (const hsize_t size : column.shape) message.put(static_cast<int64_t>(size));
  }
  message.put("");
  return message;
}

/// Takes what `described` has put.
std::vector<Hdf5Column> columns_of(Message& message) {
  constexpr int64_t kMostDims = 32;
  std::vector<Hdf5Column> columns;
  for (std::string name = message.take_text(); !name.empty(); name = message.take_text()) {
    Hdf5Column column{.name = std::move(name)};
    column.kind =
        static_cast<Hdf5Kind>(std::clamp<int64_t>(message.take_number(), 0, static_cast<int64_t>(Hdf5Kind::Other)));
    column.format = message.take_text();
    column.item_bytes = message.take_number();
    column.chunk_rows = static_cast<hsize_t>(std::max<int64_t>(message.take_number(), 0));
    const int64_t dims = std::clamp<int64_t>(message.take_number(), 1, kMostDims);
    for (int64_t i = 0; i < dims; ++i) column.shape.push_back(static_cast<hsize_t>(message.take_number()));
    check_description(column);
    columns.push_back(std::move(column));
  }
  return columns;
}

const char* open_file(const char* text, void** opened, ColumnSchema* columns) {
  return text_of_exception([&] {
    auto file = std::make_unique<Hdf5File>();
    set_path(text, *file);
    ChildAnswer answer = run_in_child(kLeastSeconds, [&](int) { return described(*file); });
    file->columns = columns_of(answer.message);
    OwnedType all{.format = "+s"};
    for (const Hdf5Column& column : file->columns) all.children.push_back(type_of(column));
    *columns = exported(all);
    *opened = file.release();
  });
}

void close_file(void* file) { delete static_cast<Hdf5File*>(file); }

const char* select_columns(void* opened, const int64_t* columns, int64_t count) {
  return text_of_exception([&] {
    auto& file = *static_cast<Hdf5File*>(opened);
    file.rows = file.row_bytes = 0;
    int64_t chunk_rows = 1;
    for (int64_t i = 0; i < count; ++i) {
      const Hdf5Column& column = file.columns[static_cast<size_t>(columns[i])];
      const Hdf5Column& first = file.columns[static_cast<size_t>(columns[0])];
      if (column.rows() != first.rows())
        throw std::runtime_error("data set '" + column.name + "' has " + std::to_string(column.rows()) +
                                 " samples, and '" + first.name + "' has " + std::to_string(first.rows()) +
                                 "; name those that belong together in data.fields");
      file.rows = column.rows();
      file.row_bytes += column.row_bytes();
      chunk_rows = std::max(chunk_rows, static_cast<int64_t>(column.chunk_rows));
    }
    const int64_t row_bytes = std::max<int64_t>(file.row_bytes, 1);
    if (file.rows > file.bytes * kMostValuesPerByte / row_bytes)
      throw std::runtime_error("is said to have " + std::to_string(file.rows) + " samples of " +
                               std::to_string(row_bytes) + " bytes, more than the file's " +
                               std::to_string(file.bytes) + " bytes can hold");
    file.block_rows = std::max<int64_t>(1, kBlockBytes / row_bytes);
    // Chunks are read whole.
    if (chunk_rows <= file.block_rows) file.block_rows -= file.block_rows % chunk_rows;
  });
}

int64_t block_count(const void* opened) {
  const auto& file = *static_cast<const Hdf5File*>(opened);
  return (file.rows + file.block_rows - 1) / file.block_rows;
}

int64_t row_count(const void* opened, int64_t block) {
  const auto& file = *static_cast<const Hdf5File*>(opened);
  return std::min(file.block_rows, file.rows - block * file.block_rows);
}

int64_t byte_count(const void* opened, int64_t block) {
  return row_count(opened, block) * static_cast<const Hdf5File*>(opened)->row_bytes;
}

/// Writes a column's buffers to the file, and where they lie there to the message.
void send(const OwnedColumn& column, int file, Message& message) {
  message.put(column.length);
  message.put(static_cast<int64_t>(column.buffers.size()));
  for (const ColumnBuffer& buffer : column.buffers) {
    message.put(buffer.get() ? buffer.size : -1);
    constexpr off_t kAligned = 64;
    const off_t end = lseek(file, 0, SEEK_END), begin = (end + kAligned - 1) / kAligned * kAligned;
    message.put(static_cast<int64_t>(begin));
    if (!buffer.get()) continue;
    if (ftruncate(file, begin + std::max<off_t>(buffer.size, 1)) != 0)
      throw std::runtime_error("there is not enough memory to read it");
    for (int64_t done = 0; done < buffer.size;) {
      const ssize_t written = pwrite(file, buffer.get() + done, static_cast<size_t>(buffer.size - done), begin + done);
      if (written <= 0) throw std::runtime_error("there is not enough memory to read it");
      done += written;
    }
  }
  message.put(static_cast<int64_t>(column.children.size()));
  for (const OwnedColumn& child : column.children) send(child, file, message);
}

/// Takes what `send` has put; the buffers stay in the child's memory, which they keep.
OwnedColumn received(ChildAnswer& answer, int depth = 0) {
  constexpr int64_t kMostParts = 64;
  const auto wrong = [] { throw std::runtime_error("the process that read it gave a wrong answer"); };
  OwnedColumn column{.length = answer.message.take_number()};
  const int64_t buffers = answer.message.take_number();
  if (column.length < 0 || buffers < 0 || buffers > kMostParts || depth > kMostParts) wrong();
  for (int64_t i = 0; i < buffers; ++i) {
    const int64_t size = answer.message.take_number(), begin = answer.message.take_number();
    if (begin < 0 || begin > answer.bytes || size > answer.bytes - begin) wrong();
    ColumnBuffer buffer;
    if (size >= 0) buffer = {std::shared_ptr<std::byte[]>(answer.memory, answer.memory.get() + begin), size};
    column.buffers.push_back(std::move(buffer));
  }
  const int64_t children = answer.message.take_number();
  if (children < 0 || children > kMostParts) wrong();
  for (int64_t i = 0; i < children; ++i) column.children.push_back(received(answer, depth + 1));
  return column;
}

const char* read_columns(const void* opened, int64_t block, const int64_t* columns, int64_t count,
                         ColumnArray* values) {
  return text_of_exception([&] {
    const auto& file = *static_cast<const Hdf5File*>(opened);
    const int64_t rows = row_count(opened, block);
    const int64_t seconds = kLeastSeconds + byte_count(opened, block) / kBytesPerSecond;
    ChildAnswer answer = run_in_child(seconds, [&](int memory) {
      const Hdf5Handle handle = open_path(file.path);
      Message message;
      for (int64_t i = 0; i < count; ++i) {
        const Hdf5Column& column = file.columns[static_cast<size_t>(columns[i])];
        const Hdf5Handle dataset = open_dataset(handle, file, column.name);
        try {
          send(read_hdf5(dataset, column, block * file.block_rows, rows), memory, message);
        } catch (const std::exception& error) {
          throw std::runtime_error("data set '" + column.name + "': " + error.what());
        }
      }
      return message;
    });
    OwnedColumn all{.length = rows};
    all.buffers.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      all.children.push_back(received(answer));
      check_values(all.children.back(), file.columns[static_cast<size_t>(columns[i])], rows);
    }
    *values = exported(std::move(all));
  });
}

constexpr ModuleFunctions kHdf5Module = {.version = kTableModuleVersion,
                                         .open = open_file,
                                         .close = close_file,
                                         .select = select_columns,
                                         .block_count = block_count,
                                         .row_count = row_count,
                                         .byte_count = byte_count,
                                         .read = read_columns};

}  // namespace
}  // namespace levin::data

extern "C" __attribute__((visibility("default"))) const levin::data::ModuleFunctions* levin_table_module() {
  return &levin::data::kHdf5Module;
}
