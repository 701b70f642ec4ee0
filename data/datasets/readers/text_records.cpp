#include <levin/data/datasets/readers/text_records.h>
#include <levin/core/system/error.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/decompress.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace levin::data {
namespace {

/// Returns the delimiter of a table by the end of its name, that of a packed file without its own; 0: it is none.
char table_delimiter(std::string name) {
  for (const char* const packed : {".gz", ".zst", ".xz", ".bz2"})
    if (name.ends_with(packed)) name.resize(name.rfind('.'));
  if (name.ends_with(".csv")) return ',';
  return name.ends_with(".tsv") ? '\t' : '\0';
}

}  // namespace

TextRecords::File TextRecords::read_table(const std::string& path, char delimiter) {
  const FileBytes bytes = map_file_bytes(path);
  std::string unpacked;
  if (is_compressed(bytes.text())) unpacked = decompress(bytes);
  File file{.name = bytes.name};
  CsvReader reader(unpacked.empty() ? bytes.text() : std::string_view(unpacked), bytes.name, {.delimiter = delimiter});
  std::set<std::string> names;
  for (const std::string& name : reader.columns())
    if (!names.insert(name).second) throw UsageError(bytes.name, ": two columns have the name ", shown_field(name));
  while (reader.next()) {
    nlohmann::json row = nlohmann::json::object();
    for (size_t i = 0; i < reader.columns().size(); ++i) row[reader.columns()[i]] = std::string(reader[i]);
    file.rows.push_back(row.dump());
    file.numbers.push_back(reader.line());
  }
  return file;
}

TextRecords::TextRecords(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    const char delimiter = table_delimiter(path);
    files_.push_back(delimiter == '\0' ? File{.lines = std::make_unique<LineFile>(path)} : read_table(path, delimiter));
    const File& added = files_.back();
    ends_.push_back(size() + (added.lines ? added.lines->size() : static_cast<int64_t>(added.rows.size())));
  }
}

std::pair<const TextRecords::File*, int64_t> TextRecords::find(int64_t index) const {
  const auto file = static_cast<size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
  return {&files_[file], index - (file == 0 ? 0 : ends_[file - 1])};
}

std::string_view TextRecords::line(int64_t index) const {
  const auto [file, at] = find(index);
  return file->lines ? file->lines->line(at) : std::string_view(file->rows[static_cast<size_t>(at)]);
}

std::string TextRecords::place(int64_t index) const {
  const auto [file, at] = find(index);
  if (file->lines) return file->lines->place(at);
  return file->name + ": line " + std::to_string(file->numbers[static_cast<size_t>(at)]);
}

}  // namespace levin::data
