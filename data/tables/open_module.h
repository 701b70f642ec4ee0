#pragma once
#include <levin/data/files/missing_library.h>
#include <levin/data/tables/module_interface.h>

#include <string>

namespace levin::data {

/// There is no module for a file format in this levin; the text says how to get it.
class MissingModule final : public MissingLibrary {
 public:
  using MissingLibrary::MissingLibrary;
};

/// Opens the module of a file format, "parquet" or "hdf5", once, and returns its functions.
///
/// It is looked for in the folder that the variable LEVIN_MODULES names, beside levin's program or library, and in the
/// folder lib beside theirs. Throws MissingModule if there is none, and levin::UsageError if it cannot be opened.
const ModuleFunctions& open_table_module(const std::string& format);

}  // namespace levin::data
