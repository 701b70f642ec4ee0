#include <levin/data/datasets/readers/coco_annotations.h>
#include <c10/util/StringUtil.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/console.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/local_path.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;
using CocoJson = nlohmann::json;

constexpr size_t kMostCocoLevels = 64;
constexpr int64_t kMostPixelsOfSide = 1'000'000;

/// Keeps what detection needs: outlines are most of a file, and would be most of the memory.
bool is_needed(int depth, CocoJson::parse_event_t event, const CocoJson& parsed) {
  static const std::set<std::string> tables = {"images", "annotations", "categories"};
  static const std::set<std::string> fields = {"id",       "file_name",   "height", "width", "name",
                                               "image_id", "category_id", "bbox",   "area",  "iscrowd"};
  if (event != CocoJson::parse_event_t::key) return true;
  const auto& key = parsed.get_ref<const std::string&>();
  return depth == 1 ? tables.contains(key) : depth == 3 ? fields.contains(key) : false;
}

CocoJson parsed_file(const fs::path& path) {
  const FileBytes file = map_file_bytes(path);
  const std::string_view text = file.text();
  if (is_nested_deeper(text, kMostCocoLevels))
    throw UsageError(file.name, ": expected at most ", kMostCocoLevels, " levels of lists and objects");
  try {
    return CocoJson::parse(text, is_needed);
  } catch (const CocoJson::parse_error& error) {
    const size_t end = std::min<size_t>(error.byte, text.size());
    throw UsageError(file.name, ": is no JSON text, line ", 1 + std::ranges::count(text.substr(0, end), '\n'));
  } catch (const CocoJson::exception&) {
    throw UsageError(file.name, ": holds a number that is too large");
  }
}

/// A row of one of the file's tables, and its place for messages.
class CocoRow {
 public:
  CocoRow(const std::string& file, const char* table, size_t number, const CocoJson& row)
      : file_(file), table_(table), number_(number), row_(row) {
    if (!row.is_object()) fail("", "expected an object");
  }

  bool has(const char* field) const { return row_.contains(field) && !row_.at(field).is_null(); }

  int64_t integer(const char* field) const {
    const CocoJson& value = at(field);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{1} << 62))
      fail(field, "expected a whole number");
    return value.get<int64_t>();
  }
  std::string text(const char* field) const {
    const CocoJson& value = at(field);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) fail(field, "expected a text");
    return value.get<std::string>();
  }
  int64_t side(const char* field) const {
    if (!has(field)) return 0;
    const int64_t pixels = integer(field);
    if (pixels < 1 || pixels > kMostPixelsOfSide)
      fail(field, c10::str("expected pixels from 1 to ", kMostPixelsOfSide, ", got ", pixels));
    return pixels;
  }
  double number(const char* field) const { return number_of(field, at(field)); }
  /// Returns x, y, width and height.
  std::array<double, 4> box() const {
    const CocoJson& value = at("bbox");
    if (!value.is_array() || value.size() != 4) fail("bbox", "expected [x, y, width, height]");
    std::array<double, 4> numbers = {};
    std::ranges::transform(value, numbers.begin(), [&](const CocoJson& one) { return number_of("bbox", one); });
    if (numbers[2] < 0 || numbers[3] < 0) fail("bbox", "expected a width and a height of at least 0");
    return numbers;
  }
  bool flag(const char* field) const {
    if (!has(field)) return false;
    if (at(field).is_boolean()) return at(field).get<bool>();
    const int64_t value = integer(field);
    if (value != 0 && value != 1) fail(field, "expected 0 or 1");
    return value == 1;
  }
  [[noreturn]] void fail(const std::string& field, const std::string& why) const {
    throw UsageError(file_, ": ", table_, "[", number_, "]", field.empty() ? "" : ".", field, ": ", why);
  }

 private:
  const CocoJson& at(const char* field) const {
    if (!has(field)) fail(field, "missing");
    return row_.at(field);
  }
  double number_of(const char* field, const CocoJson& value) const {
    constexpr double kMost = 1e9;
    if (!value.is_number() || !(std::abs(value.get<double>()) <= kMost)) fail(field, "expected numbers of pixels");
    return value.get<double>();
  }

  const std::string& file_;
  const char* table_;
  size_t number_;
  const CocoJson& row_;
};

/// Reads the tables one after the other.
class CocoReader {
 public:
  CocoReader(const fs::path& file, const fs::path& folder, const CocoAnnotations& known)
      : file_(shown_url(file.native())),
        folder_(image_place(folder)),
        known_(known),
        json_(parsed_file(local_path(file))) {
    if (!json_.is_object()) throw UsageError(file_, ": expected an object with images, annotations and categories");
  }

  CocoAnnotations read() {
    for_each_row("categories", [&](const CocoRow& row) { add_category(row); });
    number_classes();
    for_each_row("images", [&](const CocoRow& row) { add_image(row); });
    for_each_row("annotations", [&](const CocoRow& row) { add_object(row); });
    if (read_.images.empty()) throw UsageError(file_, ": has no images");
    if (outside_ > 0)
      console::warn(file_ + ": " + counted(outside_, "box") + (outside_ == 1 ? " is" : "es are") +
                    " without area in the image, and left out");
    return std::move(read_);
  }

 private:
  template <class Take>
  void for_each_row(const char* table, const Take& take) {
    const auto found = json_.find(table);
    if (found == json_.end() || !found->is_array())
      throw UsageError(file_, ": expected a list \"", table, "\", as COCO's files for object detection have it");
    size_t number = 0;
    for (const CocoJson& row : *found) take(CocoRow(file_, table, number++, row));
  }

  void add_category(const CocoRow& row) {
    if (!categories_.emplace(row.integer("id"), row.text("name")).second)
      row.fail("id", c10::str("category ", row.integer("id"), " is given twice"));
  }

  void number_classes() {
    std::map<std::string, int64_t> labels;
    read_.class_names = known_.class_names;
    read_.category_ids = known_.category_ids;
    for (size_t i = 0; i < known_.class_names.size(); ++i) labels[known_.class_names[i]] = static_cast<int64_t>(i);
    std::set<std::string> names;
    for (const auto& [id, name] : categories_) {
      if (!names.insert(name).second) throw UsageError(file_, ": two categories have the name ", name);
      if (known_.class_names.empty()) {
        labels[name] = static_cast<int64_t>(read_.class_names.size());
        read_.class_names.push_back(name);
        read_.category_ids.push_back(id);
      } else if (!labels.contains(name)) {
        throw UsageError(file_, ": the category ", name, " is none of the training data's");
      }
      label_of_[id] = labels[name];
      read_.category_ids[static_cast<size_t>(labels[name])] = id;
    }
    if (read_.class_names.empty()) throw UsageError(file_, ": has no categories");
  }

  void add_image(const CocoRow& row) {
    const fs::path name = row.text("file_name");
    if (name.is_absolute() || std::ranges::find(name, fs::path("..")) != name.end())
      row.fail("file_name", name.string() + " leads out of the folder of the images");
    CocoAnnotations::Image image{.path = (folder_ / name).string(),
                                 .id = row.integer("id"),
                                 .height = row.side("height"),
                                 .width = row.side("width")};
    if (!place_of_image_.emplace(image.id, read_.images.size()).second)
      row.fail("id", c10::str("image ", image.id, " is given twice"));
    read_.images.push_back(std::move(image));
  }

  void add_object(const CocoRow& row) {
    const auto place = place_of_image_.find(row.integer("image_id"));
    if (place == place_of_image_.end()) row.fail("image_id", c10::str("there is no image ", row.integer("image_id")));
    const auto label = label_of_.find(row.integer("category_id"));
    if (label == label_of_.end())
      row.fail("category_id", c10::str("there is no category ", row.integer("category_id")));
    CocoAnnotations::Image& image = read_.images[place->second];
    const auto [x, y, width, height] = row.box();
    const auto cut = [](double at, int64_t side) {
      return static_cast<float>(std::clamp(at, 0.0, side == 0 ? std::numeric_limits<double>::max() : double(side)));
    };
    CocoObject object{
        .box = {cut(x, image.width), cut(y, image.height), cut(x + width, image.width), cut(y + height, image.height)},
        .label = label->second,
        .area = row.has("area") ? static_cast<float>(std::max(row.number("area"), 0.0)) : 0,
        .is_crowd = row.flag("iscrowd")};
    if (object.box[2] > object.box[0] && object.box[3] > object.box[1])
      image.objects.push_back(object);
    else
      outside_ += 1;
  }

  std::string file_;
  fs::path folder_;
  const CocoAnnotations& known_;
  CocoJson json_;
  CocoAnnotations read_ = {};
  std::map<int64_t, std::string> categories_ = {};
  std::unordered_map<int64_t, int64_t> label_of_ = {};
  std::unordered_map<int64_t, size_t> place_of_image_ = {};
  int64_t outside_ = 0;
};

}  // namespace

int64_t CocoAnnotations::most_objects() const {
  size_t most = 0;
  for (const Image& image : images) most = std::max(most, image.objects.size());
  return static_cast<int64_t>(most);
}

CocoAnnotations read_coco_annotations(const fs::path& file, const fs::path& folder, const CocoAnnotations& known) {
  return CocoReader(file, folder, known).read();
}

}  // namespace levin::data
