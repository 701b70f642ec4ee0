#pragma once
#include <levin/data/datasets/table_module.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data {

struct JsonLinesOptions {
  /// The files, and how the fields of their lines become those of samples; these options appear beside the others,
  /// without a prefix.
  TableFileOptions table = {};
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Lines that are JSON objects, in files that may be compressed: numbers, bools, texts, and lists of these, by name.
///
/// The first 16,384 lines tell the fields and their types: whole numbers are int64, others float64; columns of `input`
/// and those for which `dtypes` names a floating type may have fractions at any line. Blocks that are read at a time
/// are as many lines.
class JsonLines : public TableModule {
 public:
  using Options = JsonLinesOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit JsonLines(Options options = {});

 protected:
  std::unique_ptr<TableSource> open_files(const std::vector<std::string>& files, const std::string& option,
                                          const TableFieldOptions& columns) override;
};

}  // namespace levin::data
