#include <levin/data/tokenizers/post_processor.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/unicode.h>

#include <algorithm>
#include <utility>

namespace levin::data::tokenizers {
namespace {

/// Moves the ends of tokens' offsets off the spaces that their texts have there. A single space before the first token
/// was added if `adds_space`, and counts as nothing.
void trim_offsets(EncodedPart& part, bool adds_space) {
  auto& offsets = part.encoding.offsets;
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t leading = part.spaces[i].leading;
    const int64_t trailing = part.spaces[i].trailing;
    auto& [begin, end] = offsets[i];
    if (leading > 0) {
      if ((i == 0 || begin == 0) && adds_space && leading == 1) leading = 0;
      begin = std::min(begin + leading, end);
    }
    if (trailing > 0 && end >= trailing) end = std::max(end - trailing, begin);
  }
}

class ByteLevelProcessor final : public PostProcessor {
 public:
  explicit ByteLevelProcessor(const JsonFields& fields)
      : trims_(fields.boolean("trim_offsets")), adds_space_(fields.boolean("add_prefix_space")) {
    fields.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  }
  int64_t added(bool /*is_pair*/) const override { return 0; }
  void process(std::vector<EncodedPart>& parts, const EncodeOptions& /*options*/) const override {
    if (!trims_) return;
    for (EncodedPart& part : parts) trim_offsets(part, adds_space_);
  }
  bool needs_spaces() const override { return trims_; }

 private:
  bool trims_, adds_space_;
};

/// The token and id that a processor of a fixed form adds.
struct FixedToken {
  FixedToken(const JsonFields& fields, const char* name) {
    const Json& pair = fields.list(name);
    if (pair.size() != 2) throw UsageError(fields.place_of(name), ": is not a token and its id");
    spaces = spaces_of(json_text_of(pair[0], fields.place_of(name)));
    id = json_id_of(pair[1], fields.place_of(name));
  }
  int32_t id = 0;
  TokenSpaces spaces = {};
};

/// [CLS] first [SEP] second [SEP] of BERT, and <s> first </s></s> second </s> of RoBERTa, where all types are 0.
class FixedProcessor final : public PostProcessor {
 public:
  FixedProcessor(const JsonFields& fields, bool is_roberta)
      : first_(fields, "cls"), last_(fields, "sep"), is_roberta_(is_roberta) {
    if (!is_roberta) {
      fields.allow({"type", "sep", "cls"});
      return;
    }
    fields.allow({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    trims_ = fields.boolean("trim_offsets");
    adds_space_ = fields.boolean("add_prefix_space");
  }

  int64_t added(bool is_pair) const override { return !is_pair ? 2 : is_roberta_ ? 4 : 3; }

  void process(std::vector<EncodedPart>& parts, const EncodeOptions& options) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (trims_) trim_offsets(parts[i], adds_space_);
      if (is_roberta_) std::ranges::fill(parts[i].encoding.type_ids, 0);
      if (!options.add_special_tokens) continue;
      const auto type = static_cast<int32_t>(i > 0 && !is_roberta_);
      EncodedPart whole;
      if (i == 0) {
        append_part(whole, part_of_added({first_.id}, {first_.spaces}, 0, options));
      } else if (is_roberta_) {
        append_part(whole, part_of_added({last_.id}, {last_.spaces}, 0, options));
      }
      append_part(whole, parts[i]);
      append_part(whole, part_of_added({last_.id}, {last_.spaces}, type, options));
      parts[i] = std::move(whole);
    }
  }

  bool needs_spaces() const override { return trims_; }

 private:
  FixedToken first_, last_;
  bool is_roberta_, trims_ = false, adds_space_ = false;
};

class ProcessorSequence final : public PostProcessor {
 public:
  explicit ProcessorSequence(std::vector<PostProcessorPtr> steps) : steps_(std::move(steps)) {}
  int64_t added(bool is_pair) const override {
    int64_t sum = 0;
    for (const PostProcessorPtr& step : steps_) sum += step->added(is_pair);
    return sum;
  }
  void process(std::vector<EncodedPart>& parts, const EncodeOptions& options) const override {
    for (const PostProcessorPtr& step : steps_) step->process(parts, options);
  }
  bool needs_spaces() const override { return std::ranges::any_of(steps_, &PostProcessor::needs_spaces, deref); }
  bool is_template() const override { return std::ranges::any_of(steps_, &PostProcessor::is_template, deref); }

 private:
  static const PostProcessor& deref(const PostProcessorPtr& step) { return *step; }

  std::vector<PostProcessorPtr> steps_;
};

constexpr int64_t kDeepestProcessor = 20;

PostProcessorPtr read_processor(const Json& json, const std::string& place, int64_t depth) {
  const JsonFields fields(json, place);
  const std::string type = fields.text("type");
  if (type == "ByteLevel") return std::make_unique<ByteLevelProcessor>(fields);
  if (type == "BertProcessing") return std::make_unique<FixedProcessor>(fields, false);
  if (type == "RobertaProcessing") return std::make_unique<FixedProcessor>(fields, true);
  if (type == "TemplateProcessing") return read_template(fields);
  if (type != "Sequence") fields.fail("levin does not know the post-processor '" + type.substr(0, 100) + "'");
  fields.allow({"type", "processors"});
  if (depth > kDeepestProcessor) fields.fail("sequences are nested too deeply");
  std::vector<PostProcessorPtr> steps;
  bool has_template = false;
  for (const Json& step : fields.list("processors")) {
    const std::string step_place = fields.place_of("processors", steps.size());
    steps.push_back(read_processor(step, step_place, depth + 1));
    if (has_template && (steps.back()->added(false) > 0 || steps.back()->is_template())) {
      throw UsageError(step_place, ": adds tokens behind a TemplateProcessing, which has no meaning");
    }
    has_template |= steps.back()->is_template();
  }
  return std::make_unique<ProcessorSequence>(std::move(steps));
}

}  // namespace

PostProcessorPtr read_post_processor(const Json& json, const std::string& place) {
  return read_processor(json, place, 0);
}

EncodedPart part_of_added(const std::vector<int32_t>& ids, const std::vector<TokenSpaces>& spaces, int32_t type_id,
                          const EncodeOptions& options) {
  EncodedPart part;
  part.encoding.ids = ids;
  part.encoding.special_tokens_mask.assign(ids.size(), 1);
  part.encoding.type_ids.assign(ids.size(), type_id);
  if (options.with_offsets) part.encoding.offsets.assign(ids.size(), {0, 0});
  part.spaces = spaces;
  return part;
}

void append_part(EncodedPart& to, const EncodedPart& part) {
  const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
  append(to.encoding.ids, part.encoding.ids);
  append(to.encoding.offsets, part.encoding.offsets);
  append(to.encoding.special_tokens_mask, part.encoding.special_tokens_mask);
  append(to.encoding.type_ids, part.encoding.type_ids);
  append(to.spaces, part.spaces);
}

TokenSpaces spaces_of(std::string_view token) {
  TokenSpaces spaces;
  bool only_spaces = true;
  for (size_t position = 0; position < token.size();) {
    const char32_t code = next_code_point(token, position);
    const bool space = code == 0x120 || is_space(code);  // U+0120 is the space of byte-level models
    only_spaces &= space;
    if (only_spaces) ++spaces.leading;
    spaces.trailing = space ? spaces.trailing + 1 : 0;
  }
  return spaces;
}

}  // namespace levin::data::tokenizers
