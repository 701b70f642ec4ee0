#define PCRE2_CODE_UNIT_WIDTH 8
#include <levin/data/tokenizers/regex.h>
#include <levin/core/system/error.h>
#include <levin/data/tokenizers/regex_syntax.h>

#include <pcre2.h>

#include <array>
#include <utility>

namespace levin::data::tokenizers {
namespace {

constexpr size_t kMostPattern = size_t{1} << 16;
constexpr size_t kStackBegin = size_t{1} << 15, kStackMost = size_t{1} << 23;
constexpr uint32_t kMostSteps = 10'000'000;

std::string message_of_pcre2(int error) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// What a thread needs to match.
struct Matcher {
  Matcher() {
    pcre2_set_match_limit(context, kMostSteps);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Matcher() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStackBegin, kStackMost, nullptr);
};

}  // namespace

struct Regex::Code {
  Code(pcre2_code* all, bool has_machine_code) : compiled(all), machine_code(has_machine_code) {}
  ~Code() { pcre2_code_free(compiled); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* compiled;
  bool machine_code;
};

Regex::Regex(std::string_view pattern, const std::string& place) {
  if (pattern.size() > kMostPattern) {
    throw UsageError(place, ": the regular expression has ", pattern.size(), " bytes; the most is ", kMostPattern);
  }
  const std::string translated = pcre2_syntax(pattern, place);
  int error = 0;
  PCRE2_SIZE position = 0;
  // Ruby's ^ and $ are those of lines.
  pcre2_code* const compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &position, nullptr);
  if (!compiled) {
    throw UsageError(place, ": the regular expression '", std::string(pattern.substr(0, 200)),
                     "' is broken: ", message_of_pcre2(error));
  }
  const bool machine_code = pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE) == 0;
  code_ = std::make_shared<const Code>(compiled, machine_code);
}

bool Regex::find(std::string_view text, size_t from, size_t& begin, size_t& end) const {
  thread_local const Matcher matcher;
  const auto* const subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int found =
      code_->machine_code
          ? pcre2_jit_match(code_->compiled, subject, text.size(), from, 0, matcher.data, matcher.context)
          : pcre2_match(code_->compiled, subject, text.size(), from, PCRE2_NO_UTF_CHECK, matcher.data, matcher.context);
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    throw UsageError("Tokenizer: a regular expression fails on a text of ", text.size(),
                     " bytes: ", message_of_pcre2(found), "; split the text");
  }
  const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(matcher.data);
  begin = bounds[0];
  end = bounds[1];
  return true;
}

}  // namespace levin::data::tokenizers
