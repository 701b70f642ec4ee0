#pragma once
#include <c10/util/StringUtil.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace levin::nn {

/// Reads the fields of one object of a config.json, and knows which were read. A field that is null counts as absent.
/// Errors are levin::UsageError that name the file and the field.
class ConfigFields {
 public:
  using Json = nlohmann::ordered_json;

  /// `place`: the file and the path of the object, "DIR/config.json: ". Throws if `object` is no JSON object. It must
  /// outlive this.
  ConfigFields(const Json& object, std::string place);

  /// Returns the field, or null if it is absent. It counts as read.
  const Json* find(const std::string& name);
  /// Returns a whole number within [least, most]; `otherwise` if the field is absent. Throws if both are missing.
  int64_t whole(const std::string& name, std::optional<int64_t> otherwise = {}, int64_t least = 1,
                int64_t most = kMostWhole);
  /// Returns nothing for null, and `if_absent` if there is no such field.
  std::optional<int64_t> optional_whole(const std::string& name, std::optional<int64_t> if_absent = {},
                                        int64_t least = 1);
  /// Returns a finite number of at least `least`.
  double number(const std::string& name, std::optional<double> otherwise = {}, double least = 0);
  std::optional<double> optional_number(const std::string& name, std::optional<double> if_absent = {},
                                        double least = 0);
  bool flag(const std::string& name, bool otherwise);
  std::string word(const std::string& name, std::optional<std::string> otherwise = {});
  /// Returns a list of finite numbers; empty if the field is absent.
  std::vector<double> numbers(const std::string& name);
  std::vector<std::string> words(const std::string& name);

  /// Counts fields as read.
  void skip(std::string_view names_between_spaces);
  /// Throws if the field has another value than `only`, the one that levin computes; absent counts as `only`.
  void require(const std::string& name, const Json& only);
  /// Throws that lists the fields that nothing has read, unless `ignored` names them: "rope_scaling.factor" for one of
  /// this object if `prefix` is "rope_scaling.".
  void check_all_read(const std::vector<std::string>& ignored, const std::string& prefix = {}) const;

  /// Throws levin::UsageError: the file, the name, and the parts of the text.
  template <class... Parts>
  [[noreturn]] void fail(const std::string& name, const Parts&... parts) const {
    throw_for(name, c10::str(parts...));
  }
  const std::string& place() const { return place_; }

  static constexpr int64_t kMostWhole = int64_t{1} << 31;

 private:
  [[noreturn]] void throw_for(const std::string& name, const std::string& text) const;
  [[noreturn]] void fail_type(const std::string& name, const std::string& expected, const Json& got) const;

  const Json& object_;
  std::string place_;
  std::set<std::string> read_ = {};
};

}  // namespace levin::nn
