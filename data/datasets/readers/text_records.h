#pragma once
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/line_file.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// The files of a data module of texts. As a member without LEVIN_OPTION they are flattened into its own options.
struct TextRecordFiles {
  std::vector<std::string> files = LEVIN_OPTION(
      files, {}, "Training files, by name or pattern: JSON lines, or tables (.csv, and .tsv with tabs); may be packed");
  std::vector<std::string> val_files = LEVIN_OPTION(val_files, {}, "Validation files; empty: none, or a share");
  std::vector<std::string> test_files = LEVIN_OPTION(test_files, {}, "Files for test and predict; empty: none");
  double val_fraction = LEVIN_OPTION(val_fraction, 0,
                                     "Share of the training lines that is kept for validation; a line's own bytes "
                                     "decide, so that new lines move no old ones",
                                     {.min = 0, .exclusive_max = 1});
};

/// The records of several files in sequence, each as a line of JSON: lines of JSON files, mapped into memory, and the
/// rows of tables, whose fields are texts under the names of the columns, in memory.
class TextRecords {
 public:
  /// Throws levin::UsageError that names the file if one cannot be read, and the line of a table's row that is none.
  explicit TextRecords(const std::vector<std::string>& files);

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  std::string_view line(int64_t index) const;
  /// Returns "file: line n".
  std::string place(int64_t index) const;

 private:
  /// A file of lines, or the rows of a table.
  struct File {
    std::unique_ptr<LineFile> lines = {};
    std::string name = {};
    std::vector<std::string> rows = {};
    std::vector<int64_t> numbers = {};  ///< the line on which each row begins, from 1
  };
  static File read_table(const std::string& path, char delimiter);
  std::pair<const File*, int64_t> find(int64_t index) const;

  std::vector<File> files_ = {};
  std::vector<int64_t> ends_ = {};  ///< records of the files up to and with each
};

}  // namespace levin::data
