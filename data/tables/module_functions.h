#pragma once
#include <levin/data/tables/module_errors.h>
#include <levin/data/tables/module_interface.h>

#include <memory>

namespace levin::data {

/// The functions of a module that reads files by objects of the class `File`: made of a path, with the functions of
/// ModuleFunctions as members, which throw std::exception for what is wrong.
template <class File>
struct FunctionsOf {
  static const File& of(const void* file) { return *static_cast<const File*>(file); }

  static const char* open(const char* path, void** file, ColumnSchema* columns) {
    return text_of_exception([&] {
      auto opened = std::make_unique<File>(path);
      opened->describe(columns);
      *file = opened.release();
    });
  }
  static void close(void* file) { delete static_cast<File*>(file); }
  static const char* select(void* file, const int64_t* columns, int64_t count) {
    return text_of_exception([&] { static_cast<File*>(file)->select(columns, count); });
  }
  static int64_t block_count(const void* file) { return of(file).block_count(); }
  static int64_t row_count(const void* file, int64_t block) { return of(file).row_count(block); }
  static int64_t byte_count(const void* file, int64_t block) { return of(file).byte_count(block); }
  static int64_t bounds(const void* file, int64_t block, int64_t column, ColumnBounds* bounds) {
    bool are_known = false;
    if constexpr (requires { of(file).bounds(block, column, *bounds); }) {
      // Reading the block says what is wrong.
      text_of_exception([&] { are_known = of(file).bounds(block, column, *bounds); });
    }
    return are_known ? 1 : 0;
  }
  static const char* read(const void* file, int64_t block, const int64_t* columns, int64_t count, ColumnArray* values) {
    return text_of_exception([&] { of(file).read(block, columns, count, values); });
  }

  static constexpr ModuleFunctions kAll = {.version = kTableModuleVersion,
                                           .open = open,
                                           .close = close,
                                           .select = select,
                                           .block_count = block_count,
                                           .row_count = row_count,
                                           .byte_count = byte_count,
                                           .bounds = bounds,
                                           .read = read};
};

}  // namespace levin::data

/// Exports the functions of a module; `File` with its namespace.
#define LEVIN_TABLE_MODULE(File)                                                                               \
  extern "C" __attribute__((visibility("default"))) const levin::data::ModuleFunctions* levin_table_module() { \
    return &levin::data::FunctionsOf<File>::kAll;                                                              \
  }
