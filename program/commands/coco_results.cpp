#include <levin/program/commands/coco_results.h>
#include <ATen/core/Tensor.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>

#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

bool are_detections(const Batch& batch) {
  if (batch.is_own()) return false;
  for (const char* name : {"boxes", "scores", "labels"})
    if (!batch.contains(name) || batch.is_list(name)) return false;
  const at::Tensor& boxes = batch["boxes"];
  return boxes.dim() == 3 && boxes.size(2) == 4 && batch["scores"].sizes() == boxes.sizes().slice(0, 2) &&
         batch["labels"].sizes() == boxes.sizes().slice(0, 2);
}

/// Returns the id with this number; `number + first` if none is known.
int64_t id_of(const std::vector<int64_t>& ids, int64_t number, int64_t first) {
  return static_cast<size_t>(number) < ids.size() ? ids[static_cast<size_t>(number)] : number + first;
}

}  // namespace

std::string coco_results_text(const std::vector<std::vector<Batch>>& by_loader, const PredictedSamples& samples) {
  std::string text;
  int64_t image = 0;
  for (const Batch& batch : by_loader.size() == 1 ? by_loader[0] : std::vector<Batch>(1)) {
    if (!are_detections(batch))
      throw UsageError(
          "predict --output: a .json file holds detections (boxes, scores and labels) of one loader, and "
          "these predictions are others; write .csv or .jsonl");
    const at::Tensor boxes = batch["boxes"].to(at::kCPU, at::kDouble).contiguous(),
                     scores = batch["scores"].to(at::kCPU, at::kDouble).contiguous(),
                     labels = batch["labels"].to(at::kCPU, at::kLong).contiguous();
    const auto* box = boxes.const_data_ptr<double>();
    for (int64_t i = 0; i < labels.numel(); ++i, box += 4) {
      const int64_t label = labels.const_data_ptr<int64_t>()[i];
      if (label < 0) continue;
      const nlohmann::ordered_json one = {{"image_id", id_of(samples.image_ids, image + i / labels.size(1), 1)},
                                          {"category_id", id_of(samples.category_ids, label, 0)},
                                          {"bbox", {box[0], box[1], box[2] - box[0], box[3] - box[1]}},
                                          {"score", scores.const_data_ptr<double>()[i]}};
      text += (text.empty() ? "[\n" : ",\n") + json_text(one);
    }
    image += labels.size(0);
  }
  return (text.empty() ? "[" : text) + "\n]\n";
}

}  // namespace levin::cli
