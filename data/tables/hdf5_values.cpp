#include <levin/data/tables/hdf5_values.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace levin::data {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;

/// Returns the bytes of `count` values of this size.
int64_t bytes_of(int64_t count, int64_t bytes) {
  if (count < 0 || bytes < 0 || (bytes > 0 && count > kMostBytes / bytes))
    throw std::runtime_error("its values are too large to be read");
  return count * bytes;
}

/// Memory for values that are not handed over as they are.
ColumnBuffer buffer_of(int64_t count, int64_t bytes) {
  const int64_t all = bytes_of(count, bytes);
  return {std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(all + 1)), all};
}

template <class T>
T* values_in(const ColumnBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.get());
}

Hdf5Handle file_type(hid_t dataset) { return {H5Dget_type(dataset), H5Tclose, "its type cannot be read"}; }

/// The type that values are read as.
Hdf5Handle read_type(hid_t dataset, const Hdf5Column& column) {
  const Hdf5Handle type = file_type(dataset);
  const auto copied = [](hid_t from) { return Hdf5Handle(H5Tcopy(from), H5Tclose, "its type cannot be copied"); };
  if (column.kind == Hdf5Kind::List) {
    const Hdf5Handle base(H5Tget_super(type), H5Tclose, "its type cannot be read");
    const hid_t item = column.format == "e" ? static_cast<hid_t>(base) : hdf5_native_type(column.format);
    return {H5Tvlen_create(item), H5Tclose, "its type cannot be made"};
  }
  const bool stays = column.kind != Hdf5Kind::Number || column.format == "e";
  if (stays) return copied(type);
  if (H5Tget_class(type) != H5T_ENUM) return copied(hdf5_native_type(column.format));
  // An enumeration is read as one, in this machine's order of bytes.
  return {H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose, "its type cannot be read"};
}

void read_into(hid_t dataset, hid_t type, const Hdf5Column& column, int64_t begin, int64_t count, void* values) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "its shape cannot be read");
  std::vector<hsize_t> start(column.shape.size(), 0), size = column.shape;
  start.front() = static_cast<hsize_t>(begin);
  size.front() = static_cast<hsize_t>(count);
  if (H5Sget_simple_extent_ndims(space) != static_cast<int>(size.size()) ||
      static_cast<int64_t>(H5Tget_size(type)) != column.item_bytes)
    throw std::runtime_error("its type or shape has changed since the file was opened");
  hdf5_checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr),
               "its rows cannot be chosen");
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose,
                          "its rows cannot be chosen");
  hdf5_checked(H5Dread(dataset, type, memory, space, H5P_DEFAULT, values), "its values cannot be read");
}

/// Frees what the library allocated for texts and lists.
class Reclaimed {
 public:
  Reclaimed(hid_t type, int64_t count, void* values)
      : type_(type), count_(static_cast<hsize_t>(count)), values_(values) {}
  ~Reclaimed() {
    const hid_t space = H5Screate_simple(1, &count_, nullptr);
    if (space < 0) return;
    H5Dvlen_reclaim(type_, space, H5P_DEFAULT, values_);
    H5Sclose(space);
  }
  Reclaimed(const Reclaimed&) = delete;
  Reclaimed& operator=(const Reclaimed&) = delete;

 private:
  hid_t type_;
  hsize_t count_;
  void* values_;
};

/// Texts one after another, with the place where each begins.
template <class TextAt>
OwnedColumn texts_of(int64_t count, SealedMemory& memory, const TextAt& text_at) {
  OwnedColumn texts{.length = count};
  int64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) bytes += static_cast<int64_t>(text_at(i).size());
  ColumnBuffer places = memory.take(bytes_of(count + 1, sizeof(int64_t))), all = memory.take(bytes);
  int64_t end = 0;
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view text = text_at(i);
    values_in<int64_t>(places)[i] = end;
    std::memcpy(all.get() + end, text.data(), text.size());
    end += static_cast<int64_t>(text.size());
  }
  values_in<int64_t>(places)[count] = end;
  texts.buffers.emplace_back();
  texts.buffers.push_back(std::move(places));
  texts.buffers.push_back(std::move(all));
  return texts;
}

std::string_view trimmed_text(const char* text, size_t bytes, H5T_str_t padding) {
  const std::string_view whole(text, bytes);
  if (padding == H5T_STR_NULLTERM) return whole.substr(0, whole.find('\0'));
  const size_t last = whole.find_last_not_of(padding == H5T_STR_SPACEPAD ? ' ' : '\0');
  return whole.substr(0, last == whole.npos ? 0 : last + 1);
}

OwnedColumn read_texts(hid_t dataset, const Hdf5Column& column, int64_t begin, int64_t count, SealedMemory& memory) {
  const Hdf5Handle type = read_type(dataset, column);
  const int64_t texts = count * column.width();
  const ColumnBuffer values = buffer_of(texts, column.item_bytes);
  if (column.kind == Hdf5Kind::FixedText) {
    read_into(dataset, type, column, begin, count, values.get());
    const H5T_str_t padding = H5Tget_strpad(type);
    return texts_of(texts, memory, [&](int64_t i) {
      const auto bytes = static_cast<size_t>(column.item_bytes);
      return trimmed_text(values_in<char>(values) + static_cast<size_t>(i) * bytes, bytes, padding);
    });
  }
  std::memset(values.get(), 0, static_cast<size_t>(texts * column.item_bytes));
  const Reclaimed reclaimed(type, texts, values.get());
  read_into(dataset, type, column, begin, count, values.get());
  return texts_of(texts, memory, [&](int64_t i) {
    const char* text = values_in<char*>(values)[i];
    return text ? std::string_view(text) : std::string_view();
  });
}

OwnedColumn read_lists(hid_t dataset, const Hdf5Column& column, int64_t begin, int64_t count, SealedMemory& memory) {
  const Hdf5Handle type = read_type(dataset, column);
  const Hdf5Handle item(H5Tget_super(type), H5Tclose, "its type cannot be read");
  const auto item_bytes = static_cast<int64_t>(H5Tget_size(item));
  const ColumnBuffer lists = buffer_of(count, sizeof(hvl_t));
  std::memset(lists.get(), 0, static_cast<size_t>(count) * sizeof(hvl_t));
  const Reclaimed reclaimed(type, count, lists.get());
  read_into(dataset, type, column, begin, count, lists.get());
  const auto* rows = values_in<hvl_t>(lists);
  int64_t items = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (rows[i].len > static_cast<size_t>(kMostBytes)) throw std::runtime_error("has a list that is too long");
    items += static_cast<int64_t>(rows[i].len);
  }
  OwnedColumn values{.length = items}, all{.length = count};
  ColumnBuffer bytes = memory.take(bytes_of(items, item_bytes));
  ColumnBuffer places = memory.take(bytes_of(count + 1, sizeof(int64_t)));
  int64_t end = 0;
  for (int64_t i = 0; i < count; ++i) {
    values_in<int64_t>(places)[i] = end;
    if (rows[i].len > 0)
      std::memcpy(bytes.get() + end * item_bytes, rows[i].p, rows[i].len * static_cast<size_t>(item_bytes));
    end += static_cast<int64_t>(rows[i].len);
  }
  values_in<int64_t>(places)[count] = end;
  values.buffers.emplace_back();
  values.buffers.push_back(std::move(bytes));
  all.buffers.emplace_back();
  all.buffers.push_back(std::move(places));
  all.children.push_back(std::move(values));
  return all;
}

OwnedColumn read_numbers(hid_t dataset, const Hdf5Column& column, int64_t begin, int64_t count, SealedMemory& memory) {
  const Hdf5Handle type = read_type(dataset, column);
  const int64_t numbers = count * column.width(), bytes = bytes_of(numbers, column.item_bytes);
  const bool is_bool = column.kind == Hdf5Kind::Bool;
  ColumnBuffer values = is_bool ? buffer_of(bytes, 1) : memory.take(bytes);
  read_into(dataset, type, column, begin, count, values.get());
  if (is_bool) {  // a bit each
    ColumnBuffer bits = memory.take((numbers + 7) / 8);
    for (int64_t i = 0; i < numbers; ++i)
      if (values.get()[i] != std::byte{}) bits.get()[i / 8] |= std::byte{1} << (i % 8);
    values = std::move(bits);
  }
  OwnedColumn all{.length = numbers};
  all.buffers.emplace_back();
  all.buffers.push_back(std::move(values));
  return all;
}

/// Throws for values that were written through a filter that this library lacks.
void check_filters(hid_t dataset) {
  const Hdf5Handle layout(H5Dget_create_plist(dataset), H5Pclose, "its layout cannot be read");
  for (int i = 0; i < H5Pget_nfilters(layout); ++i) {
    std::array<char, 64> name = {};
    unsigned flags = 0, config = 0;
    size_t count = 0;
    const H5Z_filter_t filter = H5Pget_filter2(layout, static_cast<unsigned>(i), &flags, &count, nullptr,
                                               name.size() - 1, name.data(), &config);
    if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
      throw std::runtime_error(std::string("is compressed by '") + name.data() + "' (filter " + std::to_string(filter) +
                               "), which this HDF5 library does not have; save it with gzip");
  }
}

}  // namespace

OwnedColumn nested(OwnedColumn values, const Hdf5Column& column, int64_t count) {
  for (size_t i = column.shape.size(); --i > 0;) {
    OwnedColumn outer;
    outer.length = count;
    for (size_t j = 1; j < i; ++j) outer.length *= static_cast<int64_t>(column.shape[j]);
    outer.buffers.emplace_back();
    outer.children.push_back(std::move(values));
    values = std::move(outer);
  }
  return values;
}

OwnedColumn read_hdf5(hid_t dataset, const Hdf5Column& column, int64_t begin, int64_t count, SealedMemory& memory) {
  check_filters(dataset);
  const bool is_text = column.kind == Hdf5Kind::Text || column.kind == Hdf5Kind::FixedText;
  const auto read = column.kind == Hdf5Kind::List ? read_lists : is_text ? read_texts : read_numbers;
  return nested(read(dataset, column, begin, count, memory), column, count);
}

void check_values(const OwnedColumn& values, const Hdf5Column& column, int64_t count) {
  const auto expect = [](bool holds) {
    if (!holds) throw std::runtime_error("the process that read it gave a wrong answer");
  };
  const OwnedColumn* at = &values;
  int64_t length = count;
  for (size_t i = 1; i < column.shape.size(); ++i) {
    expect(at->length == length && at->buffers.size() == 1 && at->children.size() == 1);
    length *= static_cast<int64_t>(column.shape[i]);
    at = &at->children.front();
  }
  const bool has_places = column.kind != Hdf5Kind::Number && column.kind != Hdf5Kind::Bool;
  const bool is_list = column.kind == Hdf5Kind::List;
  expect(at->length == length && at->children.size() == (is_list ? 1 : 0));
  expect(at->buffers.size() == (has_places && !is_list ? 3 : 2));
  const ColumnBuffer& second = at->buffers[1];
  if (!has_places) {
    expect(second.size >= (column.kind == Hdf5Kind::Bool ? (length + 7) / 8 : length * column.item_bytes));
    return;
  }
  expect(second.size >= (length + 1) * static_cast<int64_t>(sizeof(int64_t)));
  const auto* places = values_in<const int64_t>(second);
  expect(places[0] == 0);
  for (int64_t i = 0; i < length; ++i) expect(places[i] <= places[i + 1]);
  if (!is_list) return expect(places[length] <= at->buffers[2].size);
  const OwnedColumn& items = at->children.front();
  expect(items.children.empty() && items.buffers.size() == 2 && items.length == places[length] &&
         items.buffers[1].size >= items.length * item_bytes_of(column.format));
}

}  // namespace levin::data
