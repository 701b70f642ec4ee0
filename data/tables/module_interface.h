#pragma once
#include <cstdint>

/// What levin and its modules for file formats share: C structs and functions, so that a module depends on neither
/// levin nor LibTorch, and levin on no library of a format.
///
/// Columns have the layout of the Arrow C data interface. Source:
/// https://arrow.apache.org/docs/format/CDataInterface.html
namespace levin::data {

extern "C" {

/// A column's type: `ArrowSchema`.
struct ColumnSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t child_count;
  ColumnSchema** children;
  ColumnSchema* dictionary;
  void (*release)(ColumnSchema*);
  void* owner;
};

/// A column's values: `ArrowArray`.
struct ColumnArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t buffer_count;
  int64_t child_count;
  const void** buffers;
  ColumnArray** children;
  ColumnArray* dictionary;
  void (*release)(ColumnArray*);
  void* owner;
};

/// The least and the greatest value of a column in a block. The texts stay valid until the thread's next call.
struct ColumnBounds {
  int64_t is_text;
  long double least, greatest;
  const char *least_text, *greatest_text;
  int64_t least_bytes, greatest_bytes;
};

/// The functions of a module. Each may be called by several threads at once. Those that return a text return null if
/// all went well, or else what is wrong, valid until the thread's next call.
struct ModuleFunctions {
  int64_t version;
  /// Opens a file and lists its columns, as the children of a struct.
  const char* (*open)(const char* path, void** file, ColumnSchema* columns);
  void (*close)(void* file);
  /// Chooses the columns that will be read, before the functions below are called.
  const char* (*select)(void* file, const int64_t* columns, int64_t count);
  int64_t (*block_count)(const void* file);
  int64_t (*row_count)(const void* file, int64_t block);
  /// Estimates the memory that the selected columns of a block take.
  int64_t (*byte_count)(const void* file, int64_t block);
  /// Returns 1 if the file says between which values those of a column lie that are there in a block.
  int64_t (*bounds)(const void* file, int64_t block, int64_t column, ColumnBounds* bounds);
  /// Reads some of the selected columns, as the children of a struct in this order.
  const char* (*read)(const void* file, int64_t block, const int64_t* columns, int64_t count, ColumnArray* values);
};

/// The one function that a module exports.
using GetModuleFunctions = const ModuleFunctions* (*)();
}

inline constexpr int64_t kTableModuleVersion = 2;
inline constexpr const char* kGetModuleFunctions = "levin_table_module";

/// The most values that a file may claim for each of its bytes. One that claims more is refused: its sizes are wrong.
inline constexpr int64_t kMostValuesPerByte = 65536;

}  // namespace levin::data
