#include <levin/modules/metrics/edit_distance.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/python_strip.h>
#include <levin/data/files/utf8.h>
#include <levin/modules/metrics/engine/edit_distance_of.h>

#include <string_view>
#include <utility>

namespace levin::metrics {
namespace {

/// Returns the code points of a text; a byte that is not UTF-8 is one of its own.
std::vector<char32_t> characters(std::string_view text) {
  std::vector<char32_t> all;
  for (size_t position = 0; position < text.size();) {
    const size_t at = position;
    char32_t code = data::next_code_point(text, position);
    if (code == data::kInvalidUtf8) {
      code = 0x110000 + static_cast<unsigned char>(text[at]);
      ++position;
    }
    all.push_back(code);
  }
  return all;
}

const std::string& only_target(const TextPair& texts, const char* metric) {
  if (texts.targets.size() != 1)
    throw UsageError(metric, ": expected one target for each text, got ", texts.targets.size());
  return texts.targets[0];
}

}  // namespace

void WordErrorRate::add(const TextPair& texts, std::vector<double>& counts) const {
  const std::vector<std::string_view> target = data::python_split(only_target(texts, metric()));
  counts[0] += static_cast<double>(edit_distance_of(data::python_split(texts.pred), target));
  counts[1] += static_cast<double>(target.size());
}

double WordErrorRate::value(const std::vector<double>& counts) const { return counts[0] / counts[1]; }

void CharErrorRate::add(const TextPair& texts, std::vector<double>& counts) const {
  const std::vector<char32_t> target = characters(only_target(texts, metric()));
  counts[0] += static_cast<double>(edit_distance_of(characters(texts.pred), target));
  counts[1] += static_cast<double>(target.size());
}

double CharErrorRate::value(const std::vector<double>& counts) const { return counts[0] / counts[1]; }

EditDistance::EditDistance(Options options) : Cloneable("EditDistance", 2), options_(std::move(options)) {
  schema_of<Options>().check(&options_, "EditDistance");
}

void EditDistance::add(const TextPair& texts, std::vector<double>& counts) const {
  counts[0] += static_cast<double>(
      edit_distance_of(characters(texts.pred), characters(only_target(texts, metric())), options_.substitution_cost));
  counts[1] += 1;
}

double EditDistance::value(const std::vector<double>& counts) const {
  return options_.reduction == TextReduction::Sum ? counts[0] : counts[0] / counts[1];
}

}  // namespace levin::metrics
