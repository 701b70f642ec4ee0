#include <ATen/ATen.h>

#include <functional>

#include "tests/modules/metrics/metric_cases.h"

namespace metric_cases {
namespace {

at::Tensor classes_of(int64_t classes, at::IntArrayRef shape) { return at::randint(classes, shape); }

/// Some targets become -1.
at::Tensor ignore_some(at::Tensor target) {
  return at::where(at::rand(target.sizes()) < 0.25, at::full_like(target, -1), target);
}

Batches batches_of(const std::vector<int64_t>& sizes, const std::function<Batches::value_type(int64_t)>& batch) {
  Batches batches;
  for (const int64_t size : sizes) batches.push_back(batch(size));
  return batches;
}

/// Scores that follow the target loosely.
at::Tensor logits_for(const at::Tensor& target, int64_t classes) {
  const at::Tensor noise = 1.5 * at::randn({target.size(0), classes});
  return noise + at::one_hot(target, classes);
}

void add_binary(std::map<std::string, Batches>& all, const std::vector<int64_t>& sizes) {
  const auto with_target = [&](const auto& preds_of) {
    return batches_of(sizes, [&](int64_t n) {
      const at::Tensor target = classes_of(2, {n});
      return std::pair(preds_of(target), target);
    });
  };
  const auto logits = [](const at::Tensor& target) { return 2 * at::randn(target.sizes()) + target; };
  all["binary"] = with_target([&](const at::Tensor& t) { return logits(t).sigmoid(); });
  all["binary_logits"] = with_target(logits);
  all["binary_double"] = with_target([&](const at::Tensor& t) { return logits(t).sigmoid().to(at::kDouble); });
  all["binary_ties"] = with_target([&](const at::Tensor& t) { return (logits(t).sigmoid() * 5).round() / 5; });
  all["binary_labels"] = with_target([&](const at::Tensor& t) { return classes_of(2, t.sizes()); });
  all["binary_2d"] = batches_of(sizes, [](int64_t n) { return std::pair(at::rand({n, 3}), classes_of(2, {n, 3})); });
  all["binary_ignored"] =
      batches_of(sizes, [](int64_t n) { return std::pair(at::rand({n}), ignore_some(classes_of(2, {n}))); });
}

void add_multiclass(std::map<std::string, Batches>& all, const std::vector<int64_t>& sizes) {
  const auto batch = [](int64_t n) {
    const at::Tensor target = classes_of(5, {n});
    return std::pair(logits_for(target, 5), target);
  };
  all["multiclass_logits"] = batches_of(sizes, batch);
  all["multiclass"] = batches_of(sizes, [&](int64_t n) {
    const auto [logits, target] = batch(n);
    return std::pair(logits.softmax(1), target);
  });
  all["multiclass_ignored"] = batches_of(sizes, [&](int64_t n) {
    const auto [logits, target] = batch(n);
    return std::pair(logits.softmax(1), ignore_some(target));
  });
  all["multiclass_ties"] = batches_of(
      sizes, [&](int64_t n) { return std::pair(at::randint(4, {n, 5}).to(at::kFloat) / 4, classes_of(5, {n})); });
  all["multiclass_labels"] =
      batches_of(sizes, [](int64_t n) { return std::pair(classes_of(5, {n}), classes_of(5, {n})); });
  all["multiclass_3d"] =
      batches_of(sizes, [](int64_t n) { return std::pair(at::randn({n, 5, 3}), ignore_some(classes_of(5, {n, 3}))); });
}

void add_multilabel(std::map<std::string, Batches>& all, const std::vector<int64_t>& sizes) {
  const auto batch = [](int64_t n) { return std::pair(at::rand({n, 4}), classes_of(2, {n, 4})); };
  all["multilabel"] = batches_of(sizes, batch);
  all["multilabel_ignored"] = batches_of(sizes, [&](int64_t n) {
    const auto [preds, target] = batch(n);
    return std::pair(preds, ignore_some(target));
  });
  all["multilabel_logits"] = batches_of(sizes, [&](int64_t n) {
    const auto [preds, target] = batch(n);
    return std::pair(at::randn(preds.sizes()), target);
  });
  all["multilabel_3d"] =
      batches_of(sizes, [](int64_t n) { return std::pair(at::rand({n, 4, 3}), classes_of(2, {n, 4, 3})); });
}

void add_regression(std::map<std::string, Batches>& all, const std::vector<int64_t>& sizes) {
  const auto noisy = [](const at::Tensor& target) {
    return std::pair(target + 0.5 * at::randn(target.sizes()), target);
  };
  all["regression"] = batches_of(sizes, [&](int64_t n) { return noisy(at::randn({n})); });
  all["regression_half"] = batches_of(sizes, [&](int64_t n) {
    const auto [preds, target] = noisy(at::randn({n}));
    return std::pair(preds.to(at::kHalf).to(at::kFloat), target.to(at::kHalf).to(at::kFloat));
  });
  all["regression_2d"] = batches_of(sizes, [&](int64_t n) { return noisy(at::randn({n, 3}) + at::arange(3)); });
  all["tokens"] = batches_of(sizes, [](int64_t n) { return std::pair(at::randn({n, 6, 9}), classes_of(9, {n, 6})); });
  all["tokens_ignored"] =
      batches_of(sizes, [](int64_t n) { return std::pair(at::randn({n, 6, 9}), ignore_some(classes_of(9, {n, 6}))); });
}

/// Values of other distributions than the normal one, and images.
void add_values(std::map<std::string, Batches>& all, const std::vector<int64_t>& sizes) {
  all["positive"] = batches_of(sizes, [](int64_t n) { return std::pair(5 * at::rand({n}), 5 * at::rand({n})); });
  all["ranked"] = batches_of(sizes, [](int64_t n) {
    return std::pair(classes_of(6, {n, 3}).to(at::kFloat), classes_of(6, {n, 3}).to(at::kFloat));
  });
  all["weights"] = batches_of(sizes, [](int64_t n) { return std::pair(at::rand({n, 5}), at::rand({n, 5}) + 0.1); });
  all["log_probabilities"] = batches_of(
      sizes, [](int64_t n) { return std::pair(at::randn({n, 5}).log_softmax(1), at::randn({n, 5}).log_softmax(1)); });
  const auto noisy = [](const at::Tensor& target) {
    return std::pair((target + 0.2 * at::rand(target.sizes())).clamp(0, 1), target);
  };
  all["images"] = batches_of({3, 1, 2, 2}, [&](int64_t n) { return noisy(at::rand({n, 3, 24, 31})); });
  all["volumes"] = batches_of({2, 1, 1, 2}, [&](int64_t n) { return noisy(at::rand({n, 2, 12, 14, 13})); });
}

void add_segmentation(std::map<std::string, Batches>& all, const std::vector<int64_t>& sizes) {
  // Few pixels, so that classes are absent from some samples.
  const auto batch = [](int64_t n) { return std::pair(classes_of(4, {n, 2, 3}), classes_of(4, {n, 2, 3})); };
  const auto one_hot = [](const at::Tensor& labels) { return at::one_hot(labels, 4).movedim(-1, 1).contiguous(); };
  all["segments"] = batches_of(sizes, batch);
  all["segments_one_hot"] = batches_of(sizes, [&](int64_t n) {
    const auto [preds, target] = batch(n);
    return std::pair(one_hot(preds), one_hot(target));
  });
  all["segments_mixed"] = batches_of(sizes, [&](int64_t n) {
    const auto [preds, target] = batch(n);
    return std::pair(one_hot(preds), target);
  });
}

void add_degenerate(std::map<std::string, Batches>& all) {
  all["empty"] = {};
  const auto binary = [&](const std::string& name, int64_t value) {
    all["binary_" + name] = {{at::rand({6}), at::full({6}, value)}, {at::rand({3}), at::full({3}, value)}};
    all["multiclass_" + name] = {{at::rand({6, 5}).softmax(1), at::full({6}, value)}};
    all["multilabel_" + name] = {{at::rand({6, 4}), at::full({6, 4}, value)}};
  };
  binary("all_0", 0);
  binary("all_1", 1);
  binary("all_ignored", -1);
  all["binary_equal_scores"] = {{at::full({8}, 0.25), at::tensor({0, 1, 1, 0, 1, 1, 0, 1}, at::kLong)}};
  all["binary_extreme_scores"] = {
      {at::tensor({0.0, 1.0, 1.0, 0.0, 0.5}).to(at::kFloat), at::tensor({0, 1, 0, 1, 1}, at::kLong)}};
  all["multiclass_absent"] = {{at::rand({7, 5}).softmax(1), at::tensor({1, 1, 0, 3, 3, 1, 0}, at::kLong)}};
  all["constant_right"] = {{at::full({5}, 0.1), at::full({5}, 0.1)}};
  all["constant_wrong"] = {{at::rand({5}), at::full({5}, 0.1)}};
  all["one_row"] = {{at::rand({1}), at::rand({1})}};
  all["three_rows"] = {{at::rand({3}), at::rand({3})}};
  all["zeros"] = {{at::zeros({2, 3}), at::ones({2, 3})}};
  all["all_tokens_ignored"] = {{at::randn({2, 3, 4}), at::full({2, 3}, -1)}};
  all["one_segment"] = {{at::zeros({2, 2, 2}, at::kLong), at::zeros({2, 2, 2}, at::kLong)}};
  all["two_classes_logits"] = {{at::randn({9, 2}), classes_of(2, {9})}};
}

}  // namespace

const std::map<std::string, Batches>& data() {
  static const std::map<std::string, Batches> all = [] {
    at::manual_seed(11);
    const std::vector<int64_t> sizes = {17, 40, 1, 29};
    std::map<std::string, Batches> made;
    add_binary(made, sizes);
    add_multiclass(made, sizes);
    add_multilabel(made, sizes);
    add_regression(made, sizes);
    add_segmentation(made, sizes);
    add_values(made, sizes);
    add_degenerate(made);
    return made;
  }();
  return all;
}

}  // namespace metric_cases
