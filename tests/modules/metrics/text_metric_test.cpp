// Metrics of texts and of retrieval against torchmetrics.
#include <ATen/ATen.h>
#include <levin/modules/metrics/bleu_score.h>
#include <levin/modules/metrics/edit_distance.h>
#include <levin/modules/metrics/retrieval.h>
#include <levin/modules/metrics/rouge_score.h>

#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/metrics/reference.h"

namespace {

namespace m = levin::metrics;
using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;
using TextBatches = std::vector<std::pair<Texts, std::vector<Texts>>>;

/// Random texts of few words, so that many are shared; with punctuation, capitals, white space and other scripts.
TextBatches random_batches(size_t most_targets) {
  std::mt19937 random(17);
  const Texts words = {"the",        "The",          "cat", "cat,", "sat", "on", "mat.",
                       "m\xc3\xa4t", "\xe7\x8c\xab", "42",  "its",  "a",   "A-b"};
  const auto number = [&](size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random); };
  const auto text = [&] {
    std::string made;
    for (size_t i = number(9); i > 0; --i) made += words[number(words.size() - 1)] + (number(5) == 0 ? " \n" : " ");
    return made + words[number(words.size() - 1)];
  };
  TextBatches batches;
  for (const size_t size : {5, 1, 6}) {
    auto& [preds, targets] = batches.emplace_back();
    for (size_t i = 0; i < size; ++i) {
      preds.push_back(text());
      targets.emplace_back();
      for (size_t n = number(most_targets - 1) + 1; n > 0; --n)
        targets.back().push_back(number(3) == 0 ? preds.back() : text());
    }
  }
  return batches;
}

struct TextCase {
  std::string metric = {};
  Json options = {};
  std::function<std::shared_ptr<m::TextMetric>()> make = {};
  size_t most_targets = 1;
};

template <class Metric>
TextCase text_case(const std::string& name, const Json& options, size_t most_targets = 1) {
  return {name, options,
          [options] {
            typename Metric::Options read = {};
            levin::schema_of<typename Metric::Options>().set(&read, "", options);
            return std::make_shared<Metric>(read);
          },
          most_targets};
}

std::vector<TextCase> text_cases() {
  std::vector<TextCase> cases = {
      text_case<m::WordErrorRate>("WordErrorRate", Json::object()),
      text_case<m::CharErrorRate>("CharErrorRate", Json::object()),
      text_case<m::EditDistance>("EditDistance", Json::object()),
      text_case<m::EditDistance>("EditDistance", {{"substitution_cost", 2}, {"reduction", "sum"}}),
      text_case<m::BLEUScore>("BLEUScore", Json::object(), 3),
      text_case<m::BLEUScore>("BLEUScore", {{"n_gram", 2}}, 3),
      text_case<m::BLEUScore>("BLEUScore", {{"smooth", true}}, 3)};
  for (const std::string key : {"rouge1", "rouge2", "rougeL"})
    for (const std::string value : {"fmeasure", "precision", "recall"})
      for (const std::string accumulate : {"best", "avg"})
        cases.push_back(text_case<m::ROUGEScore>(
            "ROUGEScore", {{"rouge_key", key}, {"value", value}, {"accumulate", accumulate}}, 3));
  return cases;
}

/// Batches of scores, relevance and queries. Scores have few values, so that some are equal; some queries have no
/// relevant document.
const std::vector<std::vector<at::Tensor>>& documents() {
  static const std::vector<std::vector<at::Tensor>> all = [] {
    at::manual_seed(5);
    std::vector<std::vector<at::Tensor>> batches;
    for (const int64_t size : {40, 1, 33})
      batches.push_back({at::rand({size}), at::randint(4, {size}) * (at::rand({size}) < 0.4), at::randint(9, {size})});
    return batches;
  }();
  return all;
}

struct RetrievalCase {
  std::string metric = {}, data = {};
  Json options = {};
  std::function<std::shared_ptr<m::RetrievalMetric>()> make = {};
};

template <class Metric>
RetrievalCase retrieval_case(const std::string& name, const std::string& data, const Json& options) {
  m::RetrievalOptions read;
  levin::schema_of<m::RetrievalOptions>().set(&read, "", options);
  return {name, data, options, [read] { return std::make_shared<Metric>(read); }};
}

std::vector<RetrievalCase> retrieval_cases() {
  std::vector<RetrievalCase> cases;
  const std::vector<Json> all = {Json::object(),
                                 {{"top_k", 2}},
                                 {{"empty_target_action", "skip"}},
                                 {{"empty_target_action", "pos"}, {"aggregation", "median"}},
                                 {{"aggregation", "max"}}};
  for (const Json& options : all) {
    cases.push_back(retrieval_case<m::RetrievalMAP>("RetrievalMAP", "binary", options));
    cases.push_back(retrieval_case<m::RetrievalMRR>("RetrievalMRR", "binary", options));
    cases.push_back(retrieval_case<m::RetrievalNormalizedDCG>("RetrievalNormalizedDCG", "documents", options));
  }
  return cases;
}

const bool kTexts = add_reference("texts", [] {
  ReferenceRequest request{.kind = "texts", .cases = Json::array()};
  for (const TextCase& one : text_cases())
    request.cases.push_back({one.metric, one.options, random_batches(one.most_targets)});
  return request;
});

const bool kRetrieval = add_reference("retrieval", [] {
  ReferenceRequest request{.kind = "metrics", .cases = Json::array()};
  for (const char* name : {"documents", "binary"}) request.data[name] = levin::State::list();
  for (const auto& one : documents()) {
    request.data["documents"].push_back(levin::State::list({one[0], one[1], one[2]}));
    request.data["binary"].push_back(levin::State::list({one[0], one[1].clamp_max(1), one[2]}));
  }
  for (const RetrievalCase& one : retrieval_cases()) request.cases.push_back({one.metric, one.options, one.data});
  return request;
});

}  // namespace

TEST_CASE("metrics of texts equal torchmetrics'") {
  const std::vector<TextCase> cases = text_cases();
  const auto expected = reference("texts");
  if (!expected) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].metric << " " << cases[i].options.dump());
    const auto whole = cases[i].make(), first = cases[i].make(), rest = cases[i].make();
    const TextBatches batches = random_batches(cases[i].most_targets);
    for (size_t b = 0; b < batches.size(); ++b) {
      whole->update(batches[b].first, batches[b].second);
      (b == 0 ? first : rest)->update(batches[b].first, batches[b].second);
    }
    const double wanted = (*expected)[i].get<double>();
    CHECK(wanted > 0);
    CHECK(std::abs(whole->compute().item<double>() - wanted) < 1e-6 * std::max(1.0, wanted));
    first->merge(*rest);
    CHECK(first->compute().item<double>() == Approx(whole->compute().item<double>()).epsilon(1e-12));
  }
}

TEST_CASE("texts that do not fit their targets are refused, and nothing is counted") {
  m::WordErrorRate metric;
  CHECK(std::isnan(metric.compute().item<double>()));
  CHECK(metric({"a b"}, Texts{"a c"}).item<double>() == 0.5);
  CHECK(contains(error_text<levin::UsageError>([&] { metric.update({"a", "b"}, Texts{"a"}); }),
                 "WordErrorRate: expected a target for each of 2 texts, got 1"));
  CHECK(contains(error_text<levin::UsageError>([&] { metric.update({"a"}, std::vector<Texts>{{}}); }),
                 "text 0 has no target"));
  CHECK(contains(error_text<levin::UsageError>([&] { metric.update({"a"}, std::vector<Texts>{{"a", "b"}}); }),
                 "expected one target for each text, got 2"));
  CHECK(metric.compute().item<double>() == 0.5);
}

TEST_CASE("metrics of retrieval equal torchmetrics'") {
  const auto expected = reference("retrieval");
  if (!expected) return;
  const std::vector<RetrievalCase> cases = retrieval_cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].metric << " " << cases[i].options.dump());
    const auto metric = cases[i].make();
    for (const auto& batch : documents())
      metric->update(batch[0], cases[i].data == "binary" ? batch[1].clamp_max(1) : batch[1], batch[2]);
    CHECK(std::abs(metric->compute().item<double>() - (*expected)[i]["values"][0].get<double>()) < 1e-6);
  }
}

TEST_CASE("a query without relevant documents may be an error, and inputs of metrics of retrieval are checked") {
  m::RetrievalMAP metric({.empty_target_action = "error"});
  CHECK(metric.compute().item<double>() == 0);
  CHECK(contains(error_text<levin::UsageError>([&] { metric.update(at::rand({3}), at::ones({3}, at::kLong)); }),
                 "RetrievalMAP: expected preds, target and indexes, got 2"));
  CHECK(contains(
      error_text<levin::UsageError>([&] { metric.update(at::rand({3}), at::ones({3}, at::kLong), at::ones({3})); }),
      "integer indexes"));
  metric.update(at::rand({3}), at::zeros({3}, at::kLong), at::zeros({3}, at::kLong));
  CHECK(contains(error_text<levin::UsageError>([&] { metric.compute(); }), "a query has no relevant document"));
}
