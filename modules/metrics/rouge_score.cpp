#include <levin/modules/metrics/rouge_score.h>
#include <levin/modules/metrics/engine/n_grams.h>

#include <algorithm>
#include <utility>

namespace levin::metrics {
namespace {

/// A text in lower case, and its words in it.
struct RougeText {
  explicit RougeText(std::string given) : text(std::move(given)) {
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin;
      while (end < text.size() && is_part(text[end])) ++end;
      if (end > begin) words.push_back(std::string_view(text).substr(begin, end - begin));
      begin = std::max(end, begin + 1);
    }
  }
  RougeText(const RougeText&) = delete;
  RougeText& operator=(const RougeText&) = delete;

  std::string text;
  std::vector<std::string_view> words = {};
};

/// Returns the length of the longest common subsequence: O(a b) time.
size_t common_length(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::vector<size_t> row(b.size() + 1, 0);
  for (const std::string_view word : a) {
    size_t diagonal = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

struct RougeValues {
  double precision = 0, recall = 0, fmeasure = 0;
};

RougeValues values_of(size_t found, size_t predicted, size_t wanted) {
  if (predicted == 0 || wanted == 0 || found == 0) return {};
  const double precision = static_cast<double>(found) / static_cast<double>(predicted);
  const double recall = static_cast<double>(found) / static_cast<double>(wanted);
  return {.precision = precision, .recall = recall, .fmeasure = 2 * precision * recall / (precision + recall)};
}

RougeValues compare(RougeKey key, const RougeText& pred, const RougeText& target) {
  if (key == RougeKey::RougeL)
    return values_of(common_length(pred.words, target.words), pred.words.size(), target.words.size());
  const size_t length = key == RougeKey::Rouge1 ? 1 : 2;
  const auto number = [&](const RougeText& text) {
    return text.words.size() < length ? 0 : text.words.size() - length + 1;
  };
  const int64_t found = shared(n_grams(pred.words, length), n_grams(target.words, length));
  return values_of(static_cast<size_t>(found), number(pred), number(target));
}

}  // namespace

ROUGEScore::ROUGEScore(Options options) : Cloneable("ROUGEScore", 2), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "ROUGEScore");
}

void ROUGEScore::add(const TextPair& texts, std::vector<double>& counts) const {
  const RougeText pred(texts.pred);
  RougeValues best, sum;
  for (const std::string& target : texts.targets) {
    const RougeValues one = compare(options_.rouge_key, pred, RougeText(target));
    if (one.fmeasure > best.fmeasure) best = one;
    const double share = 1 / static_cast<double>(texts.targets.size());
    sum.precision += share * one.precision;
    sum.recall += share * one.recall;
    sum.fmeasure += share * one.fmeasure;
  }
  const RougeValues& counted = options_.accumulate == RougeAccumulate::Best ? best : sum;
  if (options_.value == RougeValue::Precision) counts[0] += counted.precision;
  if (options_.value == RougeValue::Recall) counts[0] += counted.recall;
  if (options_.value == RougeValue::FMeasure) counts[0] += counted.fmeasure;
  counts[1] += 1;
}

double ROUGEScore::value(const std::vector<double>& counts) const { return counts[0] / counts[1]; }

}  // namespace levin::metrics
