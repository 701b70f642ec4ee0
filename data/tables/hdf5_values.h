#pragma once
#include <levin/data/tables/hdf5_handle.h>
#include <levin/data/tables/owned_column.h>
#include <levin/data/tables/sealed_memory.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// What the values of a data set are.
enum class Hdf5Kind { Number, Bool, FixedText, Text, List, Other };

/// A data set: its values' type, and its shape.
struct Hdf5Column {
  std::string name = {};
  Hdf5Kind kind = Hdf5Kind::Other;
  std::string format = {};  ///< of a number, or of those in lists
  std::vector<hsize_t> shape = {};
  hsize_t chunk_rows = 0;    ///< 0: not in chunks
  bool is_filtered = false;  ///< compressed, or the like
  /// The first byte in the file of numbers that lie there as they do in memory; -1: they do not.
  int64_t file_place = -1;

  int64_t rows() const { return static_cast<int64_t>(shape.front()); }
  /// Returns the values of a row.
  int64_t width() const;
  /// Returns the bytes of a row in memory; of texts and lists those of their places.
  int64_t row_bytes() const { return width() * item_bytes; }
  int64_t item_bytes = 0;
};

/// Returns the bytes of a number with this format.
int64_t item_bytes_of(const std::string& format);
/// Returns the type in memory of numbers with this format.
hid_t hdf5_native_type(const std::string& format);
/// Describes an open data set with at least one dimension. Throws std::runtime_error for one that lies in other files.
Hdf5Column describe_hdf5(hid_t dataset, const std::string& name);
/// Returns where in the file each chunk of rows begins, if chunks hold numbers as they are in memory, and whole rows.
/// Returns none if they do not, if one was never written, or if there are too many. Throws std::runtime_error.
std::vector<int64_t> chunk_places(hid_t dataset, const Hdf5Column& column);
/// Returns the column's type.
OwnedType type_of(const Hdf5Column& column);
/// Puts the values of `count` rows into lists of the column's shape.
OwnedColumn nested(OwnedColumn values, const Hdf5Column& column, int64_t count);
/// Reads rows [begin, begin + count) into the memory. Throws std::runtime_error.
OwnedColumn read_hdf5(hid_t dataset, const Hdf5Column& column, int64_t begin, int64_t count, SealedMemory& memory);

/// Throws std::runtime_error if a description, or values of `count` rows, are none that the two functions above make.
void check_description(const Hdf5Column& column);
void check_values(const OwnedColumn& values, const Hdf5Column& column, int64_t count);

}  // namespace levin::data
