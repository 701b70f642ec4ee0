#include <levin/data/datasets/readers/csv_image_list.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/csv_table.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_object.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

char one_character(const std::string& text, const char* option) {
  if (text.size() != 1) throw UsageError("data.", option, ": expected one character, got '", text, "'");
  return text[0];
}

std::optional<int64_t> as_whole(const std::string& text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// Sorts names; those that are all whole numbers as numbers.
std::vector<std::string> sorted_names(const std::set<std::string>& names) {
  std::vector<std::string> sorted(names.begin(), names.end());
  if (std::ranges::all_of(sorted, [](const std::string& name) { return as_whole(name).has_value(); }))
    std::ranges::stable_sort(sorted, {}, [](const std::string& name) { return *as_whole(name); });
  return sorted;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

/// Reads the rows of one file.
class CsvImageRows {
 public:
  CsvImageRows(CsvReader& reader, const CsvImageListOptions& options, const fs::path& root, bool has_targets)
      : reader_(reader), options_(options), root_(root), path_(reader.column(options.path)) {
    if (!has_targets) return;
    if (options.target.empty()) throw UsageError("data.target: names no column; it says what is learned of an image");
    const bool is_one = options.target_type == ImageTargetType::Class;
    if (is_one && options.target.size() > 1)
      throw UsageError("data.target: one class has one column, and here are ", options.target.size(),
                       "; set data.target_type to labels or number for several");
    for (const std::string& name : options.target) columns_.push_back(reader.column(name));
    separator_ = one_character(options.label_separator, "label_separator");
  }

  void add() {
    list_.paths.push_back(image_path());
    for (const size_t column : columns_) add_value(column);
    lines_.push_back(reader_.line());
  }

  ImageList finish(const std::string& file) && {
    if (list_.paths.empty()) throw UsageError(file, ": the file has no rows, and so no images");
    if (columns_.empty()) {
      list_.classes = options_.classes;
    } else if (options_.target_type == ImageTargetType::Number || has_columns_of_labels()) {
      finish_numbers();
    } else {
      finish_names(file);
    }
    return std::move(list_);
  }

 private:
  /// Whether each label has a column of its own.
  bool has_columns_of_labels() const { return options_.target_type == ImageTargetType::Labels && columns_.size() > 1; }

  std::string image_path() const {
    const std::string_view text = without_blanks(reader_[path_]);
    if (text.empty()) reader_.fail(path_, "the path of the image is missing");
    if (text.find('\0') != text.npos) reader_.fail(path_, "the path holds a zero byte");
    if (is_remote(text)) return image_place(text).string();
    const fs::path path = root_ / fs::path(text);
    if (!image_place_exists(path))
      reader_.fail(path_,
                   "there is no image " + path.string() + "; set data.root to the folder that the paths begin in");
    return path.string();
  }

  void add_value(size_t column) {
    const std::string_view text = without_blanks(reader_[column]);
    if (options_.target_type == ImageTargetType::Number || has_columns_of_labels()) {
      const std::optional<float> number = csv_number(text);
      if (!number) reader_.fail(column, shown_field(text) + " is not a number");
      if (has_columns_of_labels() && *number != 0 && *number != 1)
        reader_.fail(column, shown_field(text) + " is neither 0 nor 1; a column of a label says whether it holds");
      numbers_.push_back(*number);
    } else if (options_.target_type == ImageTargetType::Class) {
      if (text.empty()) reader_.fail(column, "the class of the image is missing");
      add_name(text);
    } else {
      for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator_, begin), text.size());
        if (const std::string_view name = without_blanks(text.substr(begin, end - begin)); !name.empty())
          add_name(name);
        begin = end + 1;
      }
    }
  }

  void add_name(std::string_view name) { names_.emplace_back(list_.paths.size() - 1, std::string(name)); }

  void finish_numbers() {
    const auto rows = static_cast<int64_t>(list_.paths.size()), columns = static_cast<int64_t>(columns_.size());
    list_.targets = at::tensor(numbers_, at::kFloat);
    if (columns > 1) list_.targets = list_.targets.view({rows, columns});
    if (!has_columns_of_labels()) return;
    list_.classes = options_.target;
    if (!options_.classes.empty() && options_.classes != options_.target)
      throw UsageError(
          "data.classes: are not the columns of data.target, in their order, which name the labels; leave "
          "it empty");
  }

  void finish_names(const std::string& file) {
    std::set<std::string> found;
    for (const auto& [row, name] : names_) found.insert(name);
    list_.classes = options_.classes.empty() ? sorted_names(found) : options_.classes;
    std::unordered_map<std::string, int64_t> numbers;
    for (const std::string& name : list_.classes)
      if (!numbers.emplace(name, static_cast<int64_t>(numbers.size())).second)
        throw UsageError("data.classes: names ", name, " twice");
    const bool has_labels = options_.target_type == ImageTargetType::Labels;
    const auto rows = static_cast<int64_t>(list_.paths.size()), classes = static_cast<int64_t>(list_.classes.size());
    constexpr int64_t kMostValues = int64_t{1} << 31;
    if (classes == 0) throw UsageError(file, ": no image has a label");
    if (has_labels && rows > kMostValues / classes)
      throw UsageError(file, ": ", rows, " images with ", classes, " different labels are too many; is data.target, ",
                       options_.target[0], ", the column of the labels?");
    list_.targets = has_labels ? at::zeros({rows, classes}, at::kFloat) : at::zeros({rows}, at::kLong);
    for (const auto& [row, name] : names_) {
      const auto number = numbers.find(name);
      if (number == numbers.end())
        throw UsageError(file, ":", lines_[row], ": column '", options_.target[0], "': ", shown_field(name),
                         " is none of the ", classes, " classes", did_you_mean(name, list_.classes));
      const auto at = static_cast<int64_t>(row);
      if (has_labels)
        list_.targets.mutable_data_ptr<float>()[at * classes + number->second] = 1;
      else
        list_.targets.mutable_data_ptr<int64_t>()[at] = number->second;
    }
  }

  CsvReader& reader_;
  const CsvImageListOptions& options_;
  const fs::path& root_;
  size_t path_;
  std::vector<size_t> columns_ = {};
  char separator_ = ' ';
  ImageList list_ = {};
  std::vector<int64_t> lines_ = {};
  std::vector<float> numbers_ = {};
  std::vector<std::pair<size_t, std::string>> names_ = {};  ///< row and name
};

}  // namespace

ImageList read_csv_image_list(const fs::path& file, const CsvImageListOptions& options, bool has_targets) {
  const MappedFilePtr content = map_file(file, FileAccess::Sequential);
  CsvReader reader(content->text(), content->path().string(),
                   {.delimiter = one_character(options.delimiter, "delimiter"), .header = options.header});
  // The query of a URL is none of its folders.
  const size_t end = is_on_server(file) ? file.native().find('?') : std::string::npos;
  const fs::path folder = fs::path(file.native().substr(0, end)).parent_path();
  const fs::path root = image_place(options.root.empty() ? folder : fs::path(options.root));
  is_image_folder(root);  // lists that of a bucket, so that images that are missing are found
  CsvImageRows rows(reader, options, root, has_targets);
  while (reader.next()) rows.add();
  return std::move(rows).finish(content->path().string());
}

}  // namespace levin::data
