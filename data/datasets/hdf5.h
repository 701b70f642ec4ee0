#pragma once
#include <levin/data/datasets/table_module.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data {

struct Hdf5Options {
  /// The files, and how their data sets become fields; these options appear beside the others, without a prefix.
  TableFileOptions table = {};
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Arrays in HDF5 files, whose first dimension counts the samples: numbers, bools, texts, and lists of different
/// lengths (h5py's vlen_dtype), by their paths in the file: {"input": "train/x"}. A file may be named with a group,
/// "data.h5:train", below which paths begin.
///
/// Files are read by HDF5's library in child processes, since it crashes on damaged files; what they read is shared
/// memory. Numbers that lie in the file as they do in memory are read in this process, without the library: those in
/// one place are mapped, and those in chunks that are not compressed and hold whole rows are copied. So do not truncate
/// a file while it is read: an access to mapped numbers that are gone ends this process with SIGBUS, as with every
/// mapped file. A file may be replaced by another one of its name.
///
/// Blocks that are read at a time are rows of some 64 MB. Values that lie in other files, by external storage, virtual
/// data sets or external links, are refused.
class Hdf5 : public TableModule {
 public:
  using Options = Hdf5Options;
  /// Throws levin::UsageError for options that contradict each other.
  explicit Hdf5(Options options = {});

 protected:
  std::unique_ptr<TableSource> open_files(const std::vector<std::string>& files, const std::string& option,
                                          const TableFieldOptions& columns) override;
};

}  // namespace levin::data
