#include <levin/data/tables/open_module.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/hdf5.h>
#include <levin/data/datasets/parquet.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

namespace levin::data {
namespace {

TEST_CASE("A levin without the module of a format says how to get it") {
  CHECK(error_text<MissingModule>([] { open_table_module("absent"); }).find("built without a reader of absent files") !=
        std::string::npos);
}

TEST_CASE("A module that cannot be opened, or is none, is named") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "liblevin_broken.so") << "no library";
  ::setenv("LEVIN_MODULES", folder.path().c_str(), 1);
  const std::string text = error_text<UsageError>([] { open_table_module("broken"); });
  ::unsetenv("LEVIN_MODULES");
  CHECK(text.find("liblevin_broken.so: cannot be opened") != std::string::npos);
}

TEST_CASE("Data sets of tables refuse options that contradict each other") {
  ParquetOptions both;
  both.table.val_files = {"a.parquet"};
  both.table.val_fraction = 0.5;
  CHECK(error_text<UsageError>([&] { Parquet{both}; }).find("data.val_fraction") == 0);
  Hdf5Options grouped;
  grouped.table.group_by_length = "x";
  grouped.shuffle = false;
  CHECK(error_text<UsageError>([&] { Hdf5{grouped}; }).find("data.group_by_length: needs data.shuffle") == 0);
  CHECK(error_text<UsageError>([] { Parquet().setup(Stage::Fit); }).find("data.files: not set") == 0);
}

}  // namespace
}  // namespace levin::data
