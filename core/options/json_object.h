#pragma once
#include <levin/core/options/option_type.h>

#include <string>
#include <utility>

namespace levin {

/// A JSON object of any content, as text, which levin hands on: `{"root": "data", "sizes": [3, 4]}`.
class JsonObject {
 public:
  JsonObject() = default;
  /// `text` is an object in JSON.
  explicit JsonObject(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }
  bool operator==(const JsonObject&) const = default;

 private:
  std::string text_ = "{}";
};

LEVIN_DECLARE_OPTION_TYPE(JsonObject);

}  // namespace levin
