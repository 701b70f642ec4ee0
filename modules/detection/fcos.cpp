#include <levin/modules/detection/fcos.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>
#include <levin/modules/detection/fcos_loss.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/nn/metric_of_loader.h>
#include <levin/modules/transformers/data_classes.h>

#include <utility>
#include <vector>

namespace levin::nn {
namespace {

FCOSNetworkOptions network_options(const FCOSOptions& options) {
  return {.num_classes = options.num_classes,
          .width = options.width,
          .channels = options.channels,
          .first_stride = options.first_stride,
          .levels = options.levels,
          .head_layers = options.head_layers};
}

/// Returns the labels of a batch. Throws levin::UsageError if they, or the boxes, do not fit it or the classes.
at::Tensor checked_labels(const Batch& batch, int64_t classes) {
  const at::Tensor &boxes = batch["boxes"], &labels = batch["labels"];
  const bool fits = boxes.dim() == 3 && boxes.size(2) == 4 && boxes.is_floating_point() && labels.dim() == 2 &&
                    labels.sizes() == boxes.sizes().slice(0, 2) && labels.scalar_type() == at::kLong &&
                    labels.size(0) == batch.input().size(0) && labels.size(1) > 0;
  if (!fits)
    throw UsageError("FCOS: expected floating boxes [batch, most, 4] and int64 labels [batch, most], got ",
                     boxes.sizes(), " and ", labels.sizes(), " of ", labels.scalar_type(),
                     "; data.class Detection has them");
  if (labels.is_cpu() && labels.max().item<int64_t>() >= classes)
    throw UsageError("data: a label is class ", labels.max().item<int64_t>(), ", and the model has ", classes,
                     " classes; set model.num_classes");
  return labels;
}

/// Returns how many pixels of the input are one of the file's image, in x and y, for each box of a batch.
at::Tensor scale_of_boxes(const Batch& batch) { return batch["scale"].repeat({1, 2}).unsqueeze(1); }

at::Tensor in_file_pixels(const at::Tensor& boxes, const Batch& batch) {
  return batch.contains("scale") ? boxes / scale_of_boxes(batch) : boxes;
}

}  // namespace

FCOS::FCOS(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  net = register_module("net", FCOSNetwork(network_options(options)));
  load_initial_weights(*this, options.initial);
}

FCOSOutput FCOS::forward(const at::Tensor& images) { return net->forward(images); }

Detections FCOS::detect(const Batch& batch) { return detections_of(forward(batch.input()), batch); }

Detections FCOS::detections_of(const FCOSOutput& output, const Batch& batch) const {
  Detections found = choose_detections(output, {.score_threshold = options.score_threshold,
                                                .nms_threshold = options.nms_threshold,
                                                .most = options.max_detections,
                                                .height = batch.input().size(2),
                                                .width = batch.input().size(3)});
  found.boxes = in_file_pixels(found.boxes, batch);
  return found;
}

at::Tensor FCOS::loss_of(const FCOSOutput& output, const Batch& batch, const std::string& stage) {
  at::Tensor labels = checked_labels(batch, options.num_classes);
  if (batch.contains("iscrowd")) labels = labels.masked_fill(batch["iscrowd"].to(at::kBool), -1);
  const FCOSLosses losses = fcos_losses(output, fcos_targets(output, batch["boxes"], labels));
  const at::Tensor loss = losses.classes + losses.boxes + losses.centerness;
  log(stage + "_loss", loss, {.prog_bar = true});
  if (stage == "train") {
    log("train_class_loss", losses.classes);
    log("train_box_loss", losses.boxes);
    log("train_centerness_loss", losses.centerness);
  }
  return loss;
}

StepOutput FCOS::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  return loss_of(forward(batch.input()), batch, "train");
}

void FCOS::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val", val_); }

void FCOS::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test", test_); }

void FCOS::evaluate(const Batch& batch, const std::string& stage, Metrics& metrics) {
  const FCOSOutput output = forward(batch.input());
  loss_of(output, batch, stage);
  const Detections found = detections_of(output, batch);
  const at::Tensor none = at::zeros_like(batch["labels"]);
  const std::vector<at::Tensor> inputs = {found.boxes,
                                          found.scores,
                                          found.labels,
                                          in_file_pixels(batch["boxes"], batch),
                                          batch["labels"],
                                          batch.contains("iscrowd") ? batch["iscrowd"] : none,
                                          batch.contains("area") ? batch["area"] : none};
  metrics::MeanAveragePrecisionOptions how;
  MeanPrecision& map = metric_of_loader(metrics.map, dataloader_idx(), how);
  how.iou_thresholds = {0.5};
  MeanPrecision& map_50 = metric_of_loader(metrics.map_50, dataloader_idx(), how);
  map.update_all(inputs);
  map_50.update_all(inputs);
  log(stage + "_map", map, {.prog_bar = true});
  log(stage + "_map_50", map_50);
}

Batch FCOS::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  const Detections found = detect(batch);
  return Batch({{"boxes", found.boxes}, {"scores", found.scores}, {"labels", found.labels}});
}

std::map<std::string, BatchFunction> FCOS::export_functions() {
  return {{"forward", [this](const Batch& batch) {
             const FCOSOutput output = forward(batch.input());
             return Batch({{"boxes", boxes_of(output)}, {"scores", scores_of(output)}});
           }}};
}

OptimizerConfig FCOS::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

void FCOS::on_fit_start(Run& run) {
  const std::vector<std::string> names = classes_of_data(run.data_module());
  if (!names.empty() && static_cast<int64_t>(names.size()) != options.num_classes)
    throw UsageError("model.num_classes: is ", options.num_classes, ", and the data have ", names.size(),
                     " classes; set it to that");
}

}  // namespace levin::nn
