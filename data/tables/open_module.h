#pragma once
#include <levin/data/tables/module_interface.h>

#include <string>

namespace levin::data {

/// Opens the module of a file format, "parquet" or "hdf5", once, and returns its functions.
///
/// It is looked for in the folder that the variable LEVIN_MODULES names, beside levin's program or library, and in the
/// folder lib beside theirs. Throws levin::UsageError that says how to get it if there is none or if it cannot be
/// opened.
const ModuleFunctions& open_table_module(const std::string& format);

}  // namespace levin::data
