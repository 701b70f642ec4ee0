#pragma once
#include <levin/data/batch.h>
#include <levin/program/commands/prediction_file.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Returns detections, batches with `boxes` [samples, most, 4], `scores` and `labels` [samples, most], as COCO's
/// results: a JSON list with `image_id`, `category_id`, `bbox` (x, y, width, height) and `score` of each box whose
/// label is not negative. Samples without known ids are numbered from 1. Throws levin::UsageError for other
/// predictions. Source: https://cocodataset.org/#format-results
std::string coco_results_text(const std::vector<std::vector<Batch>>& by_loader, const PredictedSamples& samples);

}  // namespace levin::cli
