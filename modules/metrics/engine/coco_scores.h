#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace levin::metrics {

/// A detected box, or one that is there; in pixels.
struct CocoBox {
  double x = 0, y = 0, width = 0, height = 0;
  double area = 0;   ///< decides which of small, medium and large the box is; may be that of the object's outline
  double score = 0;  ///< of a detection
  int64_t label = 0;
  bool is_crowd = false;  ///< a target that stands for many objects: any number of detections may lie in it
};

struct CocoImage {
  std::vector<CocoBox> detections = {}, targets = {};
};

struct CocoCriteria {
  std::vector<double> iou_thresholds = {}, recall_thresholds = {};
  double least_area = 0, most_area = 0;  ///< targets of other areas do not count
  size_t max_detections = 0;             ///< of one class in one image, those with the highest scores
};

/// Of one class, for each IoU threshold: the mean of the precision at the recall thresholds, and the greatest recall.
/// Both are empty if no target of the class counts.
struct CocoScores {
  std::vector<double> precision = {}, recall = {};
};

/// Returns the scores by label, of all labels of detections and targets. Source: Lin et al. 2014, "Microsoft COCO",
/// and https://cocodataset.org/#detection-eval, as pycocotools' COCOeval computes them.
std::map<int64_t, CocoScores> coco_scores(const std::vector<CocoImage>& images, const CocoCriteria& criteria);

}  // namespace levin::metrics
