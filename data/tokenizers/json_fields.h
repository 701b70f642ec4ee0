#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace levin::data::tokenizers {

using Json = nlohmann::json;

/// The members of one JSON object of a tokenizer's file, whose errors (levin::UsageError) name the file and the place.
class JsonFields {
 public:
  /// `place`: the file's name and the path to the object, such as "tokenizer.json: model". Throws if `json` is no
  /// object.
  JsonFields(const Json& json, std::string place);

  const std::string& place() const { return place_; }
  /// Throws "place: what".
  [[noreturn]] void fail(const std::string& what) const;
  /// Throws if a member has another name: it could change the result.
  void allow(std::initializer_list<std::string_view> names) const;

  /// Returns whether there is a member that is not null.
  bool has(const char* name) const;
  /// Returns a member, which must be there.
  const Json& at(const char* name) const;
  /// Returns a member that is an object.
  JsonFields object(const char* name) const;
  /// Returns a member that is a list.
  const Json& list(const char* name) const;

  std::string text(const char* name) const;
  std::string text_or(const char* name, const std::string& otherwise) const;
  bool boolean(const char* name) const;
  bool boolean_or(const char* name, bool otherwise) const;
  /// Returns a whole number from 0 to `most`.
  int64_t count(const char* name, int64_t most) const;
  /// Returns a member that is a text of one character.
  char32_t character(const char* name) const;

  /// Returns "place.name", or "place.name[index]".
  std::string place_of(const char* name) const;
  std::string place_of(const char* name, size_t index) const;

 private:
  const Json* json_;
  std::string place_;
};

/// The largest id that a tokenizer's file may give: more than any vocabulary has.
inline constexpr int64_t kMostId = (int64_t{1} << 22) - 1;

/// Returns a text; throws "place: ..." for other JSON.
const std::string& json_text_of(const Json& json, const std::string& place);
/// Returns an id, 0 to kMostId; throws "place: ..." for other JSON.
int32_t json_id_of(const Json& json, const std::string& place);

}  // namespace levin::data::tokenizers
