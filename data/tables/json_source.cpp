#include <levin/data/tables/json_source.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>
#include <levin/data/datasets/readers/line_file.h>
#include <levin/data/tables/json_column.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace levin::data {
namespace {

constexpr int64_t kLinesOfBlock = 16384;

class JsonSource final : public TableSource {
 public:
  JsonSource(const std::vector<std::string>& files,
             const std::function<std::vector<int>(const std::vector<std::string>&)>& floating) {
    for (const std::string& path : files) {
      const LineFile& file = files_.emplace_back(path);
      for (int64_t line = 0; line < file.size(); line += kLinesOfBlock)
        blocks_.push_back({&file, line, std::min(kLinesOfBlock, file.size() - line)});
    }
    if (blocks_.empty()) throw UsageError(files.front(), ": has no lines");
    find_columns();
    const std::vector<int> is_floating = floating(columns_);
    for (size_t i = 0; i < columns_.size(); ++i)
      if (types_[i].leaf == JsonType::Leaf::Whole && is_floating[i] > (types_[i].depth > 0 ? 1 : 0))
        types_[i].leaf = JsonType::Leaf::Number;
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  void select(const std::vector<size_t>& columns) override {
    for (const size_t column : columns)
      if (!problems_[column].empty()) throw UsageError(problems_[column]);
  }
  int64_t block_count() const override { return static_cast<int64_t>(blocks_.size()); }
  int64_t row_count(int64_t block) const override { return at(block).lines; }
  int64_t byte_count(int64_t block) const override {
    const Block& own = at(block);
    const std::string_view last = own.file->line(own.first + own.lines - 1);
    return last.data() + last.size() - own.file->line(own.first).data();
  }
  std::vector<TableColumn> read(int64_t block, const std::vector<size_t>& columns) const override {
    std::vector<JsonColumn> values;
    for (const size_t column : columns) values.emplace_back(types_[column]);
    for (int64_t row = 0; row < row_count(block); ++row) {
      const std::string where = place(block, row);
      const nlohmann::json line = parse_json_line(text(block, row), where);
      for (size_t i = 0; i < columns.size(); ++i) {
        const auto found = line.find(columns_[columns[i]]);
        values[i].add(found == line.end() ? nullptr : &*found, field_place(where, columns[i]));
      }
    }
    std::vector<TableColumn> taken;
    for (JsonColumn& column : values) taken.push_back(column.take());
    return taken;
  }
  std::string place(int64_t block, int64_t row) const override { return at(block).file->place(at(block).first + row); }

 private:
  struct Block {
    const LineFile* file;
    int64_t first, lines;
  };
  const Block& at(int64_t block) const { return blocks_[static_cast<size_t>(block)]; }
  std::string_view text(int64_t block, int64_t row) const { return at(block).file->line(at(block).first + row); }
  std::string field_place(const std::string& line, size_t column) const {
    return line + ": field '" + columns_[column] + "'";
  }

  /// Finds the fields of the first lines and what they hold. One of several types is no problem before it is used.
  void find_columns() {
    for (int64_t row = 0; row < row_count(0); ++row) {
      const std::string where = place(0, row);
      const nlohmann::json line = parse_json_line(text(0, row), where);
      for (const auto& [name, value] : line.items()) {
        auto known = std::ranges::find(columns_, name);
        if (known == columns_.end()) {
          add_columns(text(0, row));
          known = std::ranges::find(columns_, name);
        }
        const auto column = static_cast<size_t>(known - columns_.begin());
        if (!problems_[column].empty()) continue;
        try {
          types_[column].add(value, field_place(where, column));
        } catch (const UsageError& error) {
          problems_[column] = error.what();
        }
      }
    }
  }

  /// Adds the fields of a line that are new, in the order of the line.
  void add_columns(std::string_view line) {
    const nlohmann::ordered_json fields = nlohmann::ordered_json::parse(line);
    for (const auto& field : fields.items()) {
      if (std::ranges::find(columns_, field.key()) != columns_.end()) continue;
      columns_.push_back(field.key());
      types_.emplace_back();
      problems_.emplace_back();
    }
  }

  std::deque<LineFile> files_ = {};
  std::vector<Block> blocks_ = {};
  std::vector<std::string> columns_ = {};
  std::vector<JsonType> types_ = {};
  std::vector<std::string> problems_ = {};
};

}  // namespace

std::unique_ptr<TableSource> open_json_lines(
    const std::vector<std::string>& files,
    const std::function<std::vector<int>(const std::vector<std::string>& columns)>& floating) {
  return std::make_unique<JsonSource>(files, floating);
}

}  // namespace levin::data
