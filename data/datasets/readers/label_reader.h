#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace levin {
namespace data {

/// What a label says: one of several classes, several of them, or a number. Auto: what the training labels look like.
enum class LabelType : uint8_t { Auto, Class, Classes, Number };

}  // namespace data

template <>
inline constexpr auto kWords<data::LabelType> = words_of<data::LabelType>({{"auto", data::LabelType::Auto},
                                                                           {"class", data::LabelType::Class},
                                                                           {"classes", data::LabelType::Classes},
                                                                           {"number", data::LabelType::Number}});

namespace data {

/// Reads labels of JSON: a class is a whole number from 0 on or a name, several classes are a list of such, a number is
/// a number; all of them may also be texts, as fields of tables are.
class LabelReader {
 public:
  /// `names`: those of the classes, in their order; empty: unknown.
  LabelReader(LabelType type, std::vector<std::string> names);

  /// Calls `visit` with labels and their places.
  using Labels = std::function<void(const std::function<void(const nlohmann::json& label, const std::string& place)>&)>;
  /// Learns from all training labels: which type they have if that is Auto, and which names, sorted, if they have some
  /// and none are known. Throws levin::UsageError that begins with a label's place for one that is none.
  void learn(const Labels& labels);

  LabelType type() const { return type_; }
  /// Returns the names of the classes; none if the labels are numbers.
  const std::vector<std::string>& names() const { return names_; }
  /// Returns the number of classes: of the names, or the largest class of the training labels and 1.
  int64_t classes() const;

  // Errors are levin::UsageError that begin with `place`.
  int64_t class_of(const nlohmann::json& label, const std::string& place) const;
  std::vector<int64_t> classes_of(const nlohmann::json& label, const std::string& place) const;
  float number_of(const nlohmann::json& label, const std::string& place) const;

  State state() const;
  void load(const State& state);

 private:
  void set_names(std::vector<std::string> names);

  LabelType type_;
  std::vector<std::string> names_ = {};
  std::unordered_map<std::string, int64_t> numbers_ = {};
  int64_t largest_ = -1;  ///< class of the training labels
};

}  // namespace data
}  // namespace levin
