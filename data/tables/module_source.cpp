#include <levin/data/tables/module_source.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/tables/column_of_array.h>
#include <levin/data/tables/column_type.h>
#include <levin/data/tables/open_module.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

/// A file that a module has opened.
class ModuleFile {
 public:
  ModuleFile(const ModuleFunctions& module, std::string path) : module_(module), path_(std::move(path)) {
    check(module.open(path_.c_str(), &file_, &schema_));
    for (int64_t i = 0; i < schema_.child_count; ++i) names_.emplace_back(schema_.children[i]->name);
  }
  ~ModuleFile() {
    if (schema_.release) schema_.release(&schema_);
    if (file_) module_.close(file_);
  }
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }
  int64_t block_count() const { return module_.block_count(file_); }
  int64_t row_count(int64_t block) const { return module_.row_count(file_, block); }
  int64_t byte_count(int64_t block) const { return module_.byte_count(file_, block); }

  /// Finds columns by name, for they may stand in another order than in the first file.
  void select(const std::vector<std::string>& names) {
    std::vector<int64_t> places;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(names_, name);
      if (found == names_.end())
        throw UsageError(path_, ": has no column '", name, "', which the first file has", did_you_mean(name, names_));
      const ColumnSchema& type = schema(places.emplace_back(found - names_.begin()));
      if (const std::string why = unreadable_type(type); !why.empty())
        throw UsageError(path_, ": column '", name, "' holds ", why, " (Arrow's type ", type.format,
                         "); leave it out of data.fields, or save it in another type");
    }
    check(module_.select(file_, places.data(), static_cast<int64_t>(places.size())));
    selected_ = std::move(places);
  }

  /// Returns the range of one of the selected columns.
  std::optional<ColumnRange> range(int64_t block, size_t which) const {
    ColumnBounds bounds = {};
    if (module_.bounds(file_, block, selected_[which], &bounds) == 0) return {};
    ColumnRange range{.is_text = bounds.is_text != 0, .least = bounds.least, .greatest = bounds.greatest};
    if (range.is_text) {
      range.least_text.assign(bounds.least_text, static_cast<size_t>(bounds.least_bytes));
      range.greatest_text.assign(bounds.greatest_text, static_cast<size_t>(bounds.greatest_bytes));
    }
    return range;
  }

  /// Reads some of the selected columns.
  std::vector<TableColumn> read(int64_t block, const std::vector<size_t>& which, const std::string& place) const {
    std::vector<int64_t> places;
    for (const size_t i : which) places.push_back(selected_[i]);
    const std::shared_ptr<ColumnArray> array(new ColumnArray{}, [](ColumnArray* old) {
      if (old->release) old->release(old);
      delete old;
    });
    if (const char* why = module_.read(file_, block, places.data(), static_cast<int64_t>(places.size()), array.get()))
      throw UsageError(place, ": ", why);
    std::vector<TableColumn> columns;
    for (size_t i = 0; i < places.size(); ++i) {
      const ColumnArray& values = *array->children[i];
      try {
        if (values.length != row_count(block)) throw UsageError("it has another number of rows than is said");
        columns.push_back(column_of_array(schema(places[i]), values, array));
      } catch (const UsageError& error) {
        throw UsageError(place, ": column '", names_[static_cast<size_t>(places[i])], "': ", error.what());
      }
    }
    return columns;
  }

 private:
  const ColumnSchema& schema(int64_t column) const { return *schema_.children[column]; }
  void check(const char* why) const {
    if (why) throw UsageError(path_, ": ", why);
  }

  const ModuleFunctions& module_;
  std::string path_;
  void* file_ = nullptr;
  ColumnSchema schema_ = {};
  std::vector<std::string> names_ = {};
  std::vector<int64_t> selected_ = {};
};

class ModuleSource final : public TableSource {
 public:
  ModuleSource(const ModuleFunctions& module, std::string block, const std::vector<std::string>& files)
      : block_(std::move(block)) {
    for (const std::string& file : files) files_.push_back(std::make_unique<ModuleFile>(module, file));
  }

  const std::vector<std::string>& columns() const override { return files_.front()->names(); }
  void select(const std::vector<size_t>& columns) override {
    std::vector<std::string> names;
    for (const size_t column : columns) names.push_back(this->columns()[column]);
    selected_ = columns;
    places_.clear();
    for (const auto& file : files_) {
      file->select(names);
      for (int64_t block = 0; block < file->block_count(); ++block) places_.push_back({file.get(), block});
    }
  }
  int64_t block_count() const override { return static_cast<int64_t>(places_.size()); }
  int64_t row_count(int64_t block) const override { return at(block).file->row_count(at(block).block); }
  int64_t byte_count(int64_t block) const override { return at(block).file->byte_count(at(block).block); }
  std::optional<ColumnRange> range(int64_t block, size_t column) const override {
    return at(block).file->range(at(block).block, place_of(column));
  }
  std::vector<TableColumn> read(int64_t block, const std::vector<size_t>& columns) const override {
    std::vector<size_t> which;
    for (const size_t column : columns) which.push_back(place_of(column));
    return at(block).file->read(at(block).block, which, place(block));
  }
  std::string place(int64_t block, int64_t row) const override { return place(block) + ", row " + std::to_string(row); }

 private:
  struct Place {
    const ModuleFile* file;
    int64_t block;
  };
  size_t place_of(size_t column) const {
    return static_cast<size_t>(std::ranges::find(selected_, column) - selected_.begin());
  }
  const Place& at(int64_t block) const { return places_[static_cast<size_t>(block)]; }
  std::string place(int64_t block) const {
    return at(block).file->path() + ": " + block_ + " " + std::to_string(at(block).block);
  }

  std::string block_;
  std::vector<std::unique_ptr<ModuleFile>> files_ = {};
  std::vector<size_t> selected_ = {};
  std::vector<Place> places_ = {};
};

}  // namespace

std::unique_ptr<TableSource> open_with_module(const std::string& format, const std::string& block,
                                              const std::vector<std::string>& files) {
  return std::make_unique<ModuleSource>(open_table_module(format), block, files);
}

}  // namespace levin::data
