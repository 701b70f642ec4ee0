#pragma once
#include <levin/core/options/option.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace levin::cli {

/// The text of a config whose values have comments.
class CommentedConfig {
 public:
  /// Appends an option to a section: "trainer", "model", "data", or "" for the top. The comment stands in lines of its
  /// own above the option.
  void set(const std::string& section, const std::string& key, Json value, const std::string& comment = "");
  /// Appends a comment behind the last option of a section, which must have one.
  void note(const std::string& section, const std::string& comment);
  bool empty() const { return sections_.empty(); }
  /// Returns the file's text, with `head` as its first comment.
  std::string text(const std::string& head) const;

 private:
  struct Option {
    std::string key = {};
    Json value = {};
    std::vector<std::string> above = {}, below = {};
  };
  struct Section {
    std::string name = {};
    std::vector<Option> options = {};
  };
  Section& section(const std::string& name);
  static void write(std::string& text, const std::vector<Option>& options, const std::string& indent);

  std::vector<Section> sections_ = {};
};

}  // namespace levin::cli
