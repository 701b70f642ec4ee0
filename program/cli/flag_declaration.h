#pragma once
#include <levin/core/options/option.h>
#include <levin/program/cli/flags.h>
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace levin::cli {

/// Declares the flags of one command and collects their values.
class FlagDeclaration {
 public:
  FlagDeclaration(CLI::App& app, Flags& flags, const Schema& schema, const std::vector<std::string>& arguments,
                  const Json& config, const std::string& command)
      : app_(app), flags_(flags), schema_(schema), arguments_(arguments), config_(config), command_(command) {}

  void declare_all();

  /// The options, without those of declare_general that are none.
  std::vector<KnownFlag> options = {};
  /// Prefixes of flags that cannot be known, because the config names an unknown class.
  std::vector<std::string> without_flags = {};

 private:
  void declare_general();
  void declare_trainer();
  /// Declares the flags of the class that the config chooses for "model" or "data".
  void declare_section(const char* section, const char* title);
  void declare_inner(const std::vector<std::string>& path, const OptionType& type, const Json& given,
                     const Json& by_default, const std::string& group);
  void declare_class_flag(std::vector<std::string> path, const OptionType& type, const std::string& group);
  /// Declares the flags of a list's items: `--callbacks.0.monitor`. --help does not show flags of plain values.
  void declare_items(const std::vector<std::string>& path, const Field& field, const Json& given,
                     const Json& by_default, const std::string& group);
  /// Returns whether an argument names the flag. Plain lists may be long, so only flags in use are declared.
  bool is_mentioned(const std::vector<std::string>& path) const;
  /// Returns the spellings of a flag: the prefix "trainer." is optional, and dashes stand for underscores.
  static std::vector<std::string> spellings_of(const std::vector<std::string>& path);
  /// Declares one flag with its spellings and, for a list, another flag that appends to it.
  void declare(const std::vector<std::string>& path, const Field& field, const Json& by_default,
               const std::string& group);
  CLI::Option* add(const std::vector<std::string>& path, const Field& field, const std::vector<std::string>& spellings,
                   bool adds);
  void take(const std::vector<std::string>& path, const std::string& flag, const std::string& text, bool is_switch,
            bool adds);
  /// Returns the spelling that the arguments use, the last one if there are several.
  std::string as_spelled(const std::vector<std::string>& spellings) const;

  CLI::App& app_;
  std::vector<std::string> config_files_ = {};
  Flags& flags_;
  const Schema& schema_;
  const std::vector<std::string>& arguments_;
  const Json& config_;
  const std::string& command_;
};

}  // namespace levin::cli
