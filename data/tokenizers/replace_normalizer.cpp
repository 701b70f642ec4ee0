#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/pattern.h>

#include <algorithm>
#include <vector>

namespace levin::data::tokenizers {
namespace {

class ReplaceNormalizer final : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonFields& fields)
      : pattern_(fields.at("pattern"), fields.place_of("pattern")), content_(fields.text("content")) {
    fields.allow({"type", "pattern", "content"});
  }

  Piece normalize(TextPool& pool, const Piece& piece) const override {
    thread_local std::vector<PatternRange> ranges;
    pattern_.find_all(pool.text(piece), ranges);
    if (std::ranges::none_of(ranges, &PatternRange::is_match)) return piece;
    Rewriter out(pool, piece);
    for (const PatternRange& range : ranges) {
      if (range.is_match) {
        out.skip(range.end - range.begin);
        out.insert(content_);
      } else {
        out.copy(range.end - range.begin);
      }
    }
    return out.finish();
  }

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace

NormalizerPtr read_replace(const JsonFields& fields) { return std::make_unique<ReplaceNormalizer>(fields); }

}  // namespace levin::data::tokenizers
