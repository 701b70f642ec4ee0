#include <levin/modules/metrics/engine/coco_scores.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace levin::metrics {
namespace {

enum class Outcome : uint8_t { Miss, Hit, Ignored };

/// The detections of a class in all images, and what became of each at each threshold.
struct RankedDetections {
  std::vector<double> scores = {};
  std::vector<std::vector<Outcome>> outcomes = {};  ///< by detection, then by IoU threshold
  int64_t targets = 0;                              ///< that count
};

double iou_with(const CocoBox& detection, const CocoBox& target) {
  const double width =
      std::min(detection.x + detection.width, target.x + target.width) - std::max(detection.x, target.x);
  const double height =
      std::min(detection.y + detection.height, target.y + target.height) - std::max(detection.y, target.y);
  if (!(width > 0 && height > 0)) return 0;
  const double both = width * height, own = detection.width * detection.height;
  return both / (target.is_crowd ? own : own + target.width * target.height - both);
}

/// Returns places by falling score, equal ones in their order, NaN last.
std::vector<size_t> by_falling_score(const std::vector<double>& scores) {
  const auto key = [&](size_t i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
  };
  std::vector<size_t> places(scores.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return key(a) > key(b); });
  return places;
}

bool is_outside(const CocoBox& box, const CocoCriteria& criteria) {
  return box.area < criteria.least_area || box.area > criteria.most_area;
}

/// The boxes of one class in one image: detections by falling score, and first the targets that count.
struct ImageOfClass {
  ImageOfClass(const CocoImage& image, const CocoCriteria& criteria) {
    std::vector<double> scores;
    for (const CocoBox& box : image.detections) scores.push_back(box.score);
    for (const size_t place : by_falling_score(scores)) {
      if (detections.size() == criteria.max_detections) break;
      detections.push_back(image.detections[place]);
    }
    const auto counts = [&](const CocoBox& box) { return !box.is_crowd && !is_outside(box, criteria); };
    targets = image.targets;
    const auto end = std::stable_partition(targets.begin(), targets.end(), counts);
    counted = static_cast<size_t>(end - targets.begin());
    for (const CocoBox& detection : detections)
      for (const CocoBox& target : targets) ious.push_back(iou_with(detection, target));
  }

  std::vector<CocoBox> detections = {}, targets = {};
  size_t counted = 0;             ///< of the targets
  std::vector<double> ious = {};  ///< by detection, then by target
};

/// Returns the target that a detection takes: the one of greatest IoU among those that count and are free, else among
/// those that do not count.
std::optional<size_t> target_of(const ImageOfClass& image, size_t detection, double threshold,
                                const std::vector<bool>& taken) {
  double best = std::min(threshold, 1 - 1e-10);
  std::optional<size_t> found;
  for (size_t i = 0; i < image.targets.size(); ++i) {
    if (taken[i] && !image.targets[i].is_crowd) continue;
    if (found && *found < image.counted && i >= image.counted) break;
    const double iou = image.ious[detection * image.targets.size() + i];
    if (iou < best) continue;
    best = iou;
    found = i;
  }
  return found;
}

void rank_image(const CocoImage& boxes, const CocoCriteria& criteria, RankedDetections& ranked) {
  const ImageOfClass image(boxes, criteria);
  const size_t first = ranked.scores.size();
  for (const CocoBox& detection : image.detections) {
    ranked.scores.push_back(detection.score);
    ranked.outcomes.emplace_back();
  }
  ranked.targets += static_cast<int64_t>(image.counted);
  for (const double threshold : criteria.iou_thresholds) {
    std::vector<bool> taken(image.targets.size());
    for (size_t i = 0; i < image.detections.size(); ++i) {
      const std::optional<size_t> target = target_of(image, i, threshold, taken);
      if (target) taken[*target] = true;
      const bool is_ignored = target ? *target >= image.counted : is_outside(image.detections[i], criteria);
      ranked.outcomes[first + i].push_back(is_ignored ? Outcome::Ignored : target ? Outcome::Hit : Outcome::Miss);
    }
  }
}

CocoScores scores_of(const RankedDetections& ranked, const CocoCriteria& criteria) {
  CocoScores scores;
  if (ranked.targets == 0) return scores;
  const std::vector<size_t> order = by_falling_score(ranked.scores);
  for (size_t threshold = 0; threshold < criteria.iou_thresholds.size(); ++threshold) {
    double hits = 0, misses = 0;
    std::vector<double> recall, precision;
    for (const size_t i : order) {
      hits += ranked.outcomes[i][threshold] == Outcome::Hit;
      misses += ranked.outcomes[i][threshold] == Outcome::Miss;
      recall.push_back(hits / static_cast<double>(ranked.targets));
      precision.push_back(hits / (misses + hits + std::numeric_limits<double>::epsilon()));
    }
    // The precision at a recall is the greatest at that or a higher one.
    for (size_t i = precision.size(); i > 1; --i) precision[i - 2] = std::max(precision[i - 2], precision[i - 1]);
    double sum = 0;
    for (const double wanted : criteria.recall_thresholds) {
      const auto at = std::lower_bound(recall.begin(), recall.end(), wanted);
      if (at != recall.end()) sum += precision[static_cast<size_t>(at - recall.begin())];
    }
    scores.precision.push_back(sum / static_cast<double>(criteria.recall_thresholds.size()));
    scores.recall.push_back(recall.empty() ? 0 : recall.back());
  }
  return scores;
}

}  // namespace

std::map<int64_t, CocoScores> coco_scores(const std::vector<CocoImage>& images, const CocoCriteria& criteria) {
  std::map<int64_t, RankedDetections> classes;
  for (const CocoImage& image : images) {
    std::map<int64_t, CocoImage> by_label;
    for (const CocoBox& box : image.detections) by_label[box.label].detections.push_back(box);
    for (const CocoBox& box : image.targets) by_label[box.label].targets.push_back(box);
    for (const auto& [label, boxes] : by_label) rank_image(boxes, criteria, classes[label]);
  }
  std::map<int64_t, CocoScores> scores;
  for (const auto& [label, ranked] : classes) scores[label] = scores_of(ranked, criteria);
  return scores;
}

}  // namespace levin::metrics
