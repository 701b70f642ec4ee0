#include <levin/data/tables/column_of_array.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <levin/core/system/error.h>
#include <levin/data/tables/column_type.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace levin::data {
namespace {

/// Some of an array's values: [begin, end), counted behind its own offset.
struct Range {
  const ColumnSchema* schema;
  const ColumnArray* array;
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  template <class T>
  const T* buffer(int64_t number) const {
    return array->buffer_count > number ? static_cast<const T*>(array->buffers[number]) : nullptr;
  }
  /// Returns whether value i of the range is there.
  bool has(int64_t i) const {
    const auto* bits = buffer<uint8_t>(0);
    const int64_t place = array->offset + begin + i;
    return !bits || (bits[place / 8] >> (place % 8) & 1) != 0;
  }
  bool may_lack() const { return array->null_count != 0 && buffer<uint8_t>(0) != nullptr; }
  void check() const {
    if (begin < 0 || end < begin || end > array->length) throw UsageError("its lists lie outside of its values");
  }
};

template <class Place>
Range items_of_lists(const Range& lists, std::vector<int64_t>& ends) {
  const auto* places = lists.buffer<Place>(1);
  ends.clear();
  if (lists.size() == 0 || !places) return {lists.schema->children[0], lists.array->children[0]};
  places += lists.array->offset + lists.begin;
  const auto begin = static_cast<int64_t>(places[0]);
  int64_t before = begin;
  for (int64_t i = 0; i < lists.size(); ++i) {
    const auto end = static_cast<int64_t>(places[i + 1]);
    if (end < before) throw UsageError("its lists lie outside of its values");
    ends.push_back(end - begin);
    before = end;
  }
  return {lists.schema->children[0], lists.array->children[0], begin, before};
}

/// Converts a column from its outermost lists to its values.
class Conversion {
 public:
  TableColumn take(const ColumnSchema& schema, const ColumnArray& array, std::shared_ptr<const void> owner) {
    Range range{&schema, &array, 0, array.length};
    range.check();
    while (range.schema->child_count == 1) {
      note_missing(range);
      range = std::string_view(range.schema->format).starts_with("+w:") ? items_of_fixed(range) : items_of(range);
      range.check();
    }
    note_missing(range);
    read_values(range, std::move(owner));
    std::vector<int64_t> sizes = {outer_};
    sizes.insert(sizes.end(), dims_.begin(), dims_.end());
    column_.values = column_.values.view(sizes);
    std::ranges::sort(column_.missing);
    const auto repeated = std::ranges::unique(column_.missing);
    column_.missing.erase(repeated.begin(), repeated.end());
    outer_ = 0;
    return std::move(column_);
  }

 private:
  void note_missing(const Range& range) {
    if (outer_ < 0) outer_ = range.size();
    gaps_ = std::exchange(inherited_, {});
    if (!range.may_lack()) return;
    const int64_t width = outer_ > 0 ? range.size() / outer_ : 1;
    for (int64_t i = 0; i < range.size(); ++i) {
      if (range.has(i)) continue;
      gaps_.push_back(i);
      const int64_t item = i / std::max<int64_t>(width, 1);
      column_.missing.push_back(column_.is_list ? std::ranges::upper_bound(column_.ends, item) - column_.ends.begin()
                                                : item);
    }
  }

  Range items_of_fixed(const Range& lists) {
    const int64_t length = *fixed_length(lists.schema->format), first = lists.array->offset + lists.begin;
    if (length > 0 && lists.array->offset + lists.end > std::numeric_limits<int64_t>::max() / length)
      throw UsageError("its lists lie outside of its values");
    dims_.push_back(length);
    // What stands in a list that is missing is not defined.
    for (const int64_t gap : gaps_)
      for (int64_t i = 0; i < length; ++i) inherited_.push_back(gap * length + i);
    return {lists.schema->children[0], lists.array->children[0], first * length, (first + lists.size()) * length};
  }

  Range items_of(const Range& lists) {
    std::vector<int64_t> ends;
    const bool is_large = std::string_view(lists.schema->format) == "+L";
    const Range items = is_large ? items_of_lists<int64_t>(lists, ends) : items_of_lists<int32_t>(lists, ends);
    if (!column_.is_list && dims_.empty()) {
      column_.is_list = true;
      column_.ends = std::move(ends);
      outer_ = items.size();
      return items;
    }
    const int64_t length = ends.empty() ? 0 : ends.front();
    for (size_t i = 0; i < ends.size(); ++i) {
      const int64_t own = ends[i] - (i == 0 ? 0 : ends[i - 1]);
      if (own != length)
        throw UsageError("its inner lists have ", length, " and ", own, " values; only the outermost may differ");
    }
    dims_.push_back(length);
    return items;
  }

  void read_values(const Range& range, std::shared_ptr<const void> owner) {
    const std::string_view format = range.schema->format;
    if (range.schema->dictionary) return read_dictionary(range);
    if (is_text_format(format)) return read_texts(range);
    if (format == "b") return read_bools(range);
    if (const auto scale = decimal_scale(format)) return read_decimals(range, *scale);
    read_numbers(range, *number_type(format), std::move(owner));
  }

  void read_numbers(const Range& range, at::ScalarType type, std::shared_ptr<const void> owner) {
    const auto width = static_cast<int64_t>(c10::elementSize(type));
    const auto options = at::TensorOptions(type);
    const auto* bytes = range.buffer<char>(1);
    if (range.size() == 0 || !bytes) {
      if (range.size() > 0) throw UsageError("its values are not there");
      column_.values = at::empty({0}, options);
      return;
    }
    bytes += (range.array->offset + range.begin) * width;
    const bool is_aligned = reinterpret_cast<uintptr_t>(bytes) % static_cast<uintptr_t>(width) == 0;
    if (gaps_.empty() && is_aligned) {
      // Nobody writes to them: batches are copies.
      column_.values =
          at::from_blob(const_cast<char*>(bytes), {range.size()}, [kept = std::move(owner)](void*) {}, options);
      return;
    }
    column_.values = at::empty({range.size()}, options);
    auto* values = static_cast<char*>(column_.values.mutable_data_ptr());
    std::memcpy(values, bytes, static_cast<size_t>(range.size() * width));
    for (const int64_t gap : gaps_) std::memset(values + gap * width, 0, static_cast<size_t>(width));
  }

  void read_bools(const Range& range) {
    column_.values = at::empty({range.size()}, at::TensorOptions(at::kBool));
    bool* values = column_.values.mutable_data_ptr<bool>();
    const auto* bits = range.buffer<uint8_t>(1);
    if (range.size() > 0 && !bits) throw UsageError("its values are not there");
    const int64_t first = range.array->offset + range.begin;
    for (int64_t i = 0; i < range.size(); ++i) values[i] = (bits[(first + i) / 8] >> ((first + i) % 8) & 1) != 0;
    for (const int64_t gap : gaps_) values[gap] = false;
  }

  void read_decimals(const Range& range, int scale) {
    column_.values = at::empty({range.size()}, at::TensorOptions(at::kDouble));
    auto* values = column_.values.mutable_data_ptr<double>();
    const auto* words = range.buffer<uint64_t>(1);
    if (range.size() > 0 && !words) throw UsageError("its values are not there");
    const long double unit = std::pow(10.0L, static_cast<long double>(scale));
    for (int64_t i = 0; i < range.size(); ++i) {
      const uint64_t* number = words + 2 * (range.array->offset + range.begin + i);
      const bool is_negative = (number[1] >> 63) != 0;
      const uint64_t low = is_negative ? ~number[0] + 1 : number[0];
      const uint64_t high = is_negative ? ~number[1] + (low == 0) : number[1];
      const long double whole = static_cast<long double>(high) * 0x1p64L + static_cast<long double>(low);
      values[i] = static_cast<double>((is_negative ? -whole : whole) / unit);
    }
    for (const int64_t gap : gaps_) values[gap] = 0;
  }

  /// Numbers the words in order of their first occurrence.
  int64_t place_of(std::string_view word, std::unordered_map<std::string, int64_t>& places) {
    const auto [found, is_new] = places.try_emplace(std::string(word), static_cast<int64_t>(column_.words.size()));
    if (is_new) column_.words.emplace_back(word);
    return found->second;
  }

  template <class Place, class Take>
  static void for_each_text(const Range& range, const Take& take) {
    const auto* places = range.buffer<Place>(1);
    const auto* bytes = range.buffer<char>(2);
    if (range.size() == 0) return;
    if (!places) throw UsageError("its texts are not there");
    places += range.array->offset + range.begin;
    for (int64_t i = 0; i < range.size(); ++i) {
      const auto begin = static_cast<int64_t>(places[i]), end = static_cast<int64_t>(places[i + 1]);
      if (begin < 0 || end < begin) throw UsageError("its texts overlap");
      take(i, end == begin || !range.has(i) ? std::string_view()
                                            : std::string_view(bytes + begin, static_cast<size_t>(end - begin)));
    }
  }

  template <class Take>
  static void visit_texts(const Range& range, const Take& take) {
    if (std::string_view(range.schema->format) == "U")
      for_each_text<int64_t>(range, take);
    else
      for_each_text<int32_t>(range, take);
  }

  int64_t* make_places(int64_t count) {
    column_.is_text = true;
    column_.values = at::empty({count}, at::TensorOptions(at::kLong));
    return column_.values.mutable_data_ptr<int64_t>();
  }

  void read_texts(const Range& range) {
    int64_t* places = make_places(range.size());
    std::unordered_map<std::string, int64_t> known;
    visit_texts(range, [&](int64_t i, std::string_view text) { places[i] = place_of(text, known); });
  }

  void read_dictionary(const Range& range) {
    int64_t* places = make_places(range.size());
    if (!range.array->dictionary) throw UsageError("its dictionary is not there");
    const Range texts{range.schema->dictionary, range.array->dictionary, 0, range.array->dictionary->length};
    std::unordered_map<std::string, int64_t> known;
    std::vector<int64_t> place_of_text(static_cast<size_t>(texts.size()));
    visit_texts(texts, [&](int64_t i, std::string_view text) {
      place_of_text[static_cast<size_t>(i)] = place_of(text, known);
    });
    Conversion numbers;
    numbers.gaps_ = gaps_;
    numbers.read_numbers(range, *number_type(range.schema->format), nullptr);
    const at::Tensor codes = numbers.column_.values.to(at::kLong);
    const auto* code = codes.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < range.size(); ++i) {
      if (!range.has(i)) {
        places[i] = place_of("", known);
        continue;
      }
      if (code[i] < 0 || code[i] >= texts.size()) throw UsageError("it names a text that its dictionary lacks");
      places[i] = place_of_text[static_cast<size_t>(code[i])];
    }
  }

  TableColumn column_ = {};
  int64_t outer_ = -1;                   ///< rows, or of lists the values of all rows
  std::vector<int64_t> dims_ = {};       ///< of one value
  std::vector<int64_t> gaps_ = {};       ///< of the present level
  std::vector<int64_t> inherited_ = {};  ///< of the level below, since their list is one
};

}  // namespace

TableColumn column_of_array(const ColumnSchema& schema, const ColumnArray& array, std::shared_ptr<const void> owner) {
  return Conversion().take(schema, array, std::move(owner));
}

}  // namespace levin::data
