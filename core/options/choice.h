#pragma once
#include <levin/core/options/option_type.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace levin {

/// The words by which options name the values of an enumeration. Specialize it beside the enumeration:
///
///     enum class MemoryFormat : uint8_t { Preserve, ChannelsLast };
///     template <>
///     inline constexpr auto kWords<MemoryFormat> = words_of<MemoryFormat>(
///         {{"preserve", MemoryFormat::Preserve}, {"channels_last", MemoryFormat::ChannelsLast}});
template <class E>
inline constexpr auto kWords = nullptr;

template <class E, size_t n>
constexpr std::array<std::pair<std::string_view, E>, n> words_of(const std::pair<std::string_view, E> (&words)[n]) {
  return std::to_array(words);
}

/// The value of an option that is one of a few words; in C++ an enumeration, or the word.
///
///     struct Options {
///       Choice<MemoryFormat> memory_format = LEVIN_OPTION(memory_format, MemoryFormat::Preserve, "How images lie");
///     };
///     Options{.memory_format = "channels_last"}.memory_format == MemoryFormat::ChannelsLast
template <class E>
class Choice {
 public:
  /// The first value.
  constexpr Choice() : value_(kWords<E>[0].second) {}
  constexpr Choice(E value) : value_(value) {}
  /// Takes the word of a value. Another one is reported when the options are checked.
  Choice(const char* word) : Choice(std::string(word)) {}
  Choice(std::string word) : Choice() {
    for (const auto& [name, value] : kWords<E>) {
      if (name != word) continue;
      value_ = value;
      return;
    }
    unknown_ = std::move(word);
  }

  constexpr operator E() const { return value_; }
  /// Returns false if it was made from a word that is none of a value's.
  bool is_known() const { return unknown_.empty(); }
  /// Returns the word.
  std::string word() const {
    if (!unknown_.empty()) return unknown_;
    for (const auto& [name, value] : kWords<E>)
      if (value == value_) return std::string(name);
    return {};
  }

 private:
  E value_;
  std::string unknown_ = {};
};

/// Reads and writes a Choice.
class ChoiceType : public OptionType {
 public:
  struct Access {
    std::string (*get)(const void* choice);
    void (*set)(void* choice, const std::string& word);
  };
  ChoiceType(std::vector<std::string> words, Access access) : words_(std::move(words)), access_(access) {}
  std::string expected() const override;
  Json get(const void* value) const override;
  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override;
  Json from_text(const std::string& text) const override;
  std::vector<std::string> words() const override { return words_; }

 private:
  std::vector<std::string> words_;
  Access access_;
};

template <class E>
struct OptionTraits<Choice<E>> {
  static const OptionType& type() {
    static const ChoiceType type(
        [] {
          std::vector<std::string> words;
          for (const auto& [name, value] : kWords<E>) words.emplace_back(name);
          return words;
        }(),
        {[](const void* choice) { return static_cast<const Choice<E>*>(choice)->word(); },
         [](void* choice, const std::string& word) { *static_cast<Choice<E>*>(choice) = Choice<E>(word); }});
    return type;
  }
};

}  // namespace levin
