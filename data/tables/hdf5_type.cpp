#include <levin/data/tables/hdf5_values.h>

#include <algorithm>
#include <tuple>

namespace levin::data {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;
// To find a chunk, the library visits all chunks before it. Finding this many takes it half a second.
constexpr hsize_t kMostChunks = 8192;

bool is_half(hid_t type) {
  size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return H5Tget_size(type) == 2 && H5Tget_order(type) == H5T_ORDER_LE &&
         H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 && exponent_bits == 5 &&
         mantissa_bits == 10 && H5Tget_ebias(type) == 15;
}

/// The format and size of a number, with which it is read; an empty format for a type that is none.
std::pair<std::string, int64_t> number_of(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const size_t bytes = H5Tget_size(type);
  if (kind == H5T_FLOAT) {
    if (is_half(type)) return {"e", 2};
    return bytes <= 4 ? std::pair("f", 4) : std::pair("g", 8);
  }
  if (kind != H5T_INTEGER || bytes > 8) return {};
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  if (bytes == 1) return {is_signed ? "c" : "C", 1};
  if (bytes == 2) return {is_signed ? "s" : "S", 2};
  if (bytes <= 4) return {is_signed ? "i" : "I", 4};
  return {is_signed ? "l" : "L", 8};
}

/// Returns whether this is how h5py saves bools: an enumeration of FALSE and TRUE.
bool is_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (const auto& [name, wanted] : {std::pair("FALSE", 0), std::pair("TRUE", 1)}) {
    signed char value = -1;
    if (H5Tenum_valueof(type, name, &value) < 0 || value != wanted) return false;
  }
  return true;
}

/// Describes values of a type.
void describe_type(hid_t type, Hdf5Column& column) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) {
    const bool varies = H5Tis_variable_str(type) > 0;
    column.kind = varies ? Hdf5Kind::Text : Hdf5Kind::FixedText;
    column.item_bytes = varies ? static_cast<int64_t>(sizeof(char*)) : static_cast<int64_t>(H5Tget_size(type));
  } else if (is_bool(type)) {
    column.kind = Hdf5Kind::Bool;
    column.item_bytes = 1;
  } else if (kind == H5T_ENUM || kind == H5T_VLEN) {
    const Hdf5Handle base(H5Tget_super(type), H5Tclose, "its type cannot be read");
    if (kind == H5T_VLEN && column.shape.size() > 1) return;
    column.kind = kind == H5T_VLEN ? Hdf5Kind::List : Hdf5Kind::Number;
    std::tie(column.format, column.item_bytes) = number_of(base);
    if (kind == H5T_VLEN) column.item_bytes = static_cast<int64_t>(sizeof(hvl_t));
  } else {
    column.kind = Hdf5Kind::Number;
    std::tie(column.format, column.item_bytes) = number_of(type);
  }
  const bool is_text = column.kind == Hdf5Kind::Text || column.kind == Hdf5Kind::FixedText;
  if (column.format.empty() && !is_text && column.kind != Hdf5Kind::Bool) column.kind = Hdf5Kind::Other;
}

/// Returns whether the file's numbers are those that are read.
bool is_native(hid_t dataset, const Hdf5Column& column) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "its type cannot be read");
  return column.kind == Hdf5Kind::Number &&
         (column.format == "e" || H5Tequal(type, hdf5_native_type(column.format)) > 0);
}

/// Returns where the file has the numbers one after another, as they are in memory; -1 if it has them otherwise.
int64_t place_in_file(hid_t dataset, hid_t layout, const Hdf5Column& column) {
  if (H5Pget_layout(layout) != H5D_CONTIGUOUS || !is_native(dataset, column)) return -1;
  const haddr_t place = H5Dget_offset(dataset);
  const hsize_t bytes = H5Dget_storage_size(dataset);
  const bool is_whole =
      place != HADDR_UNDEF && bytes / static_cast<hsize_t>(column.item_bytes) ==
                                  static_cast<hsize_t>(column.rows()) * static_cast<hsize_t>(column.width());
  return is_whole ? static_cast<int64_t>(place) : -1;
}

/// Returns whether places in the file count from its first byte.
bool begins_at_once(hid_t dataset) {
  const Hdf5Handle file(H5Iget_file_id(dataset), H5Fclose, "its file cannot be read");
  const Hdf5Handle made(H5Fget_create_plist(file), H5Pclose, "its file cannot be read");
  hsize_t before = 0;
  return H5Pget_userblock(made, &before) >= 0 && before == 0;
}

/// Returns the rows of a chunk if chunks have whole rows of numbers, as they are in memory; else 0.
hsize_t rows_of_plain_chunks(hid_t dataset, const Hdf5Column& column) {
  const Hdf5Handle layout(H5Dget_create_plist(dataset), H5Pclose, "its layout cannot be read");
  std::vector<hsize_t> chunk(column.shape.size());
  const auto dims = static_cast<int>(chunk.size());
  const bool is_plain = H5Pget_layout(layout) == H5D_CHUNKED && H5Pget_nfilters(layout) == 0 &&
                        is_native(dataset, column) && H5Pget_chunk(layout, dims, chunk.data()) == dims &&
                        std::equal(chunk.begin() + 1, chunk.end(), column.shape.begin() + 1);
  return is_plain ? chunk.front() : 0;
}

}  // namespace

hid_t hdf5_native_type(const std::string& format) {
  switch (format.front()) {
    case 'c':
      return H5T_NATIVE_INT8;
    case 'C':
      return H5T_NATIVE_UINT8;
    case 's':
      return H5T_NATIVE_INT16;
    case 'S':
      return H5T_NATIVE_UINT16;
    case 'i':
      return H5T_NATIVE_INT32;
    case 'I':
      return H5T_NATIVE_UINT32;
    case 'l':
      return H5T_NATIVE_INT64;
    case 'L':
      return H5T_NATIVE_UINT64;
    case 'f':
      return H5T_NATIVE_FLOAT;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

int64_t Hdf5Column::width() const {
  int64_t width = 1;
  for (size_t i = 1; i < shape.size(); ++i) width *= static_cast<int64_t>(shape[i]);
  return width;
}

int64_t item_bytes_of(const std::string& format) {
  switch (format.empty() ? ' ' : format.front()) {
    case 'c':
    case 'C':
      return 1;
    case 's':
    case 'S':
    case 'e':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    default:
      return 8;
  }
}

Hdf5Column describe_hdf5(hid_t dataset, const std::string& name) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "its shape cannot be read");
  Hdf5Column column{.name = name};
  column.shape.resize(static_cast<size_t>(hdf5_checked(H5Sget_simple_extent_ndims(space), "its shape cannot be read")));
  if (column.shape.empty()) return column;
  hdf5_checked(H5Sget_simple_extent_dims(space, column.shape.data(), nullptr), "its shape cannot be read");
  describe_type(Hdf5Handle(H5Dget_type(dataset), H5Tclose, "its type cannot be read"), column);
  const Hdf5Handle layout(H5Dget_create_plist(dataset), H5Pclose, "its layout cannot be read");
  if (H5Pget_external_count(layout) > 0 || H5Pget_layout(layout) == H5D_VIRTUAL)
    throw std::runtime_error("its values lie in other files; name those");
  std::vector<hsize_t> chunk(column.shape.size());
  if (H5Pget_layout(layout) == H5D_CHUNKED && H5Pget_chunk(layout, static_cast<int>(chunk.size()), chunk.data()) > 0)
    column.chunk_rows = chunk.front();
  column.is_filtered = H5Pget_nfilters(layout) > 0;
  check_description(column);
  column.file_place = place_in_file(dataset, layout, column);
  return column;
}

std::vector<int64_t> chunk_places(hid_t dataset, const Hdf5Column& column) {
  const hsize_t chunk_rows = rows_of_plain_chunks(dataset, column);
  if (chunk_rows == 0 || !begins_at_once(dataset)) return {};
  const auto rows = static_cast<hsize_t>(column.rows()), expected = (rows + chunk_rows - 1) / chunk_rows;
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "its shape cannot be read");
  hsize_t count = 0;
  hdf5_checked(H5Dget_num_chunks(dataset, space, &count), "its chunks cannot be counted");
  if (count != expected || count > kMostChunks) return {};
  std::vector<int64_t> places(static_cast<size_t>(count), -1);
  std::vector<hsize_t> first(column.shape.size());
  for (hsize_t i = 0; i < count; ++i) {
    unsigned skipped_filters = 0;
    haddr_t place = HADDR_UNDEF;
    hsize_t bytes = 0;
    hdf5_checked(H5Dget_chunk_info(dataset, space, i, first.data(), &skipped_filters, &place, &bytes),
                 "its chunks cannot be found");
    const hsize_t number = first.front() / chunk_rows;
    if (place == HADDR_UNDEF || number >= count || bytes != chunk_rows * static_cast<hsize_t>(column.row_bytes()))
      return {};
    places[static_cast<size_t>(number)] = static_cast<int64_t>(place);
  }
  return places;
}

OwnedType type_of(const Hdf5Column& column) {
  if (column.kind == Hdf5Kind::Other) return {.format = "+s", .name = column.name};
  OwnedType type{.format = column.kind == Hdf5Kind::Bool     ? "b"
                           : column.kind == Hdf5Kind::Number ? column.format
                           : column.kind == Hdf5Kind::List   ? "+L"
                                                             : "U"};
  if (column.kind == Hdf5Kind::List) type.children.push_back({.format = column.format});
  for (size_t i = column.shape.size(); --i > 0;)
    type = {.format = "+w:" + std::to_string(column.shape[i]), .children = {std::move(type)}};
  type.name = column.name;
  return type;
}

void check_description(const Hdf5Column& column) {
  if (column.item_bytes < 0 || (column.kind != Hdf5Kind::Other && column.item_bytes == 0))
    throw std::runtime_error("its values have no size");
  int64_t left = kMostBytes / std::max<int64_t>(column.item_bytes, 1);
  for (size_t i = 0; i < column.shape.size(); ++i) {
    const auto size = static_cast<int64_t>(column.shape[i]);
    if (size < 0 || (i > 0 && size > left)) throw std::runtime_error("its shape is too large");
    if (i > 0 && size > 0) left /= size;
  }
}

}  // namespace levin::data
