#include <levin/modules/metrics/retrieval.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace levin::metrics {
namespace {

/// Returns the places of documents by falling score; equal scores keep their order.
std::vector<size_t> ranking(const std::vector<double>& scores) {
  std::vector<size_t> places(scores.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return places;
}

/// Returns which of the first `top_k` documents are relevant, by falling score.
std::vector<bool> found(const QueryDocuments& query, size_t top_k) {
  const std::vector<size_t> places = ranking(query.preds);
  std::vector<bool> relevant;
  for (size_t i = 0; i < std::min(top_k, places.size()); ++i) relevant.push_back(query.target[places[i]] > 0);
  return relevant;
}

double discount(size_t place, size_t top_k) {
  return place < top_k ? 1 / std::log2(static_cast<double>(place) + 2) : 0;
}

double aggregate(std::vector<double> values, QueryAggregation how) {
  if (values.empty()) return 0;
  switch (how) {
    case QueryAggregation::Mean:
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    case QueryAggregation::Min:
      return *std::min_element(values.begin(), values.end());
    case QueryAggregation::Max:
      return *std::max_element(values.begin(), values.end());
    case QueryAggregation::Median:
      break;
  }
  // The lower one of two in the middle, as torch.median.
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

RetrievalMetric::RetrievalMetric(const char* metric, RetrievalOptions options)
    : metric_(metric), options_(std::move(options)) {
  schema_of<RetrievalOptions>().check(&options_, metric);
  preds_ = add_list_state("preds");
  target_ = add_list_state("target");
  indexes_ = add_list_state("indexes");
}

void RetrievalMetric::update_inputs(at::TensorList inputs) {
  if (inputs.size() != 3)
    throw UsageError(metric_, ": expected preds, target and indexes, got ", inputs.size(), " tensors");
  const at::Tensor &preds = inputs[0], &target = inputs[1], &indexes = inputs[2];
  if (preds.sizes() != target.sizes() || preds.sizes() != indexes.sizes())
    throw UsageError(metric_, ": expected preds, target and indexes of one shape, got ", preds.sizes(), ", ",
                     target.sizes(), " and ", indexes.sizes());
  if (!preds.is_floating_point() || !at::isIntegralType(target.scalar_type(), /*includeBool=*/true) ||
      !at::isIntegralType(indexes.scalar_type(), /*includeBool=*/false))
    throw UsageError(metric_, ": expected floating preds, bool or integer target and integer indexes, got ",
                     preds.scalar_type(), ", ", target.scalar_type(), " and ", indexes.scalar_type());
  append(preds_, preds.reshape({-1, 1}).to(at::kDouble));
  append(target_, target.reshape({-1, 1}).to(at::kLong));
  append(indexes_, indexes.reshape({-1, 1}).to(at::kLong));
}

std::optional<double> RetrievalMetric::value_of(const QueryDocuments& query) const {
  const size_t top_k = options_.top_k ? static_cast<size_t>(*options_.top_k) : query.preds.size();
  if (std::any_of(query.target.begin(), query.target.end(), [](int64_t one) { return one > 0; }))
    return score(query, top_k);
  switch (static_cast<EmptyTarget>(options_.empty_target_action)) {
    case EmptyTarget::Neg:
      return 0;
    case EmptyTarget::Pos:
      return 1;
    case EmptyTarget::Skip:
      return std::nullopt;
    case EmptyTarget::Error:
      break;
  }
  throw UsageError(metric_, ": a query has no relevant document; empty_target_action says what it counts as");
}

at::Tensor RetrievalMetric::compute_value() const {
  std::map<int64_t, QueryDocuments> queries;
  if (const at::Tensor scores = rows(preds_); scores.defined()) {
    const at::Tensor preds = scores.cpu(), target = rows(target_).cpu(), indexes = rows(indexes_).cpu();
    for (int64_t i = 0; i < preds.size(0); ++i) {
      const int64_t relevance = target.const_data_ptr<int64_t>()[i];
      if (relevance == options_.ignore_index) continue;
      QueryDocuments& query = queries[indexes.const_data_ptr<int64_t>()[i]];
      query.preds.push_back(preds.const_data_ptr<double>()[i]);
      query.target.push_back(relevance);
    }
  }
  std::vector<double> values;
  for (const auto& [index, query] : queries)
    if (const std::optional<double> value = value_of(query)) values.push_back(*value);
  return at::scalar_tensor(aggregate(std::move(values), options_.aggregation),
                           at::TensorOptions(at::kDouble).device(device()));
}

double RetrievalMAP::score(const QueryDocuments& query, size_t top_k) const {
  const std::vector<bool> relevant = found(query, top_k);
  double precisions = 0, count = 0;
  for (size_t i = 0; i < relevant.size(); ++i)
    if (relevant[i]) precisions += ++count / static_cast<double>(i + 1);
  return count == 0 ? 0 : precisions / count;
}

double RetrievalMRR::score(const QueryDocuments& query, size_t top_k) const {
  const std::vector<bool> relevant = found(query, top_k);
  const auto first = std::find(relevant.begin(), relevant.end(), true);
  return first == relevant.end() ? 0 : 1 / static_cast<double>(first - relevant.begin() + 1);
}

double RetrievalNormalizedDCG::score(const QueryDocuments& query, size_t top_k) const {
  const std::vector<size_t> places = ranking(query.preds);
  double gain = 0;
  for (size_t first = 0, last = 0; first < places.size(); first = last) {
    double relevance = 0, discounts = 0;
    for (; last < places.size() && query.preds[places[last]] == query.preds[places[first]]; ++last) {
      relevance += static_cast<double>(query.target[places[last]]);
      discounts += discount(last, top_k);
    }
    gain += relevance / static_cast<double>(last - first) * discounts;
  }
  std::vector<int64_t> best = query.target;
  std::sort(best.begin(), best.end(), std::greater<>());
  double best_gain = 0;
  for (size_t i = 0; i < best.size(); ++i) best_gain += static_cast<double>(best[i]) * discount(i, top_k);
  return best_gain == 0 ? 0 : std::clamp(gain / best_gain, 0.0, 1.0);
}

}  // namespace levin::metrics
