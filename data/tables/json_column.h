#pragma once
#include <levin/data/tables/table_source.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace levin::data {

/// What a field of JSON lines holds: values, or lists of them, nested `depth` times.
struct JsonType {
  enum class Leaf { Unknown, Bool, Whole, Number, Text };
  Leaf leaf = Leaf::Unknown;
  int depth = 0;

  /// Makes room for a value. Throws levin::UsageError that begins with `place` if it does not go together with those
  /// before it.
  void add(const nlohmann::json& value, const std::string& place);

 private:
  void add(const nlohmann::json& value, int at, const std::string& place);
};

/// The values of a field in a block of lines.
class JsonColumn {
 public:
  explicit JsonColumn(JsonType type) : type_(type), sizes_(static_cast<size_t>(std::max(type.depth - 1, 0)), -1) {}
  /// Adds the field's value of the next line; null if it has none. Throws levin::UsageError that begins with `place`
  /// for a value of another type.
  void add(const nlohmann::json* value, const std::string& place);
  TableColumn take();

 private:
  void add_nested(const nlohmann::json& value, int depth, const std::string& place);
  void add_leaf(const nlohmann::json& value, const std::string& place);
  void add_missing();
  int64_t place_of(const std::string& word);

  JsonType type_;
  std::vector<int64_t> sizes_;  ///< of inner lists; -1 before the first
  std::vector<int64_t> whole_ = {};
  std::vector<double> numbers_ = {};
  std::unordered_map<std::string, int64_t> places_ = {};
  int64_t rows_ = 0, items_ = 0;
  bool lacks_ = false;
  TableColumn column_ = {};
};

}  // namespace levin::data
