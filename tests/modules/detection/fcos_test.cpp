// FCOS against the same network, loss and choice of boxes by hand in Python.
#include <levin/modules/detection/fcos.h>
#include <ATen/ATen.h>
#include <levin/core/run/step_context.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/detection/fcos_loss.h>
#include <levin/modules/weights.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/modules/python_reference.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::UsageError;
using levin::nn::FCOS;
using levin::nn::FCOSOptions;
using Json = nlohmann::ordered_json;

namespace {

/// Two images of different objects, with rows that fill up; boxes of all sizes, some inside of others.
Batch drawn_batch(int64_t height, int64_t width, int64_t classes) {
  const at::Generator generator = at::detail::createCPUGenerator(3);
  const at::Tensor images = at::empty({2, 3, height, width}).normal_(0, 1, generator);
  const at::Tensor corners = at::empty({2, 9, 2}).uniform_(0, 0.7, generator),
                   sizes = at::empty({2, 9, 2}).uniform_(0.05, 0.6, generator);
  const at::Tensor whole = at::tensor({static_cast<double>(width), static_cast<double>(height)}, at::kFloat);
  const at::Tensor boxes = at::cat({corners * whole, (corners + sizes).clamp_max(1) * whole}, 2);
  at::Tensor labels = at::randint(classes, {2, 9}, generator, at::kLong);
  labels[0].narrow(0, 6, 3).fill_(-1);
  return Batch({{"input", images}, {"boxes", boxes}, {"labels", labels}});
}

double relative_error(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1e-3)).item<double>();
}

struct Compared {
  double loss = 0, gradient = 0;
};

/// Compares losses, gradients and detections with Python's; nothing if there is no Python.
std::optional<Compared> compared(FCOSOptions options, const Batch& batch, at::ScalarType type) {
  at::manual_seed(7);
  FCOS model(options);
  {
    // Outputs that are not all near 0, as after some training.
    const at::NoGradGuard no_grad;
    for (const auto& item : model.named_parameters())
      if (item.key().find("output.weight") != std::string::npos) item.value().mul_(15);
    model.net->named_parameters()["scales"].uniform_(0.5, 1.5);
  }
  const TemporaryFolder folder;
  levin::State data = levin::State::dict();
  data["weights"] = levin::module_state_dict(*model.net);
  data["images"] = batch.input().to(type);
  data["boxes"] = batch["boxes"];
  data["labels"] = batch["labels"];
  levin::save_state(data, folder / "data.pt");
  const Json shape = {{"num_classes", options.num_classes}, {"width", options.width},
                      {"channels", options.channels},       {"first_stride", options.first_stride},
                      {"levels", options.levels},           {"head_layers", options.head_layers}};
  const auto found = python_reference("network", Json::array({shape}), folder.path().string());
  if (!found) return {};

  model.to(type);
  const auto output = model.forward(batch.input().to(type));
  const auto losses = levin::nn::fcos_losses(output, levin::nn::fcos_targets(output, batch["boxes"], batch["labels"]));
  const at::Tensor all = at::stack({losses.classes, losses.boxes, losses.centerness});
  all.sum().backward();
  const levin::State results = levin::load_state(folder / "results.pt");
  Compared result = {.loss = relative_error(all.detach(), results.at("losses").to_tensor())};
  for (const auto& item : model.net->named_parameters()) {
    const at::Tensor& expected = results.at("gradients").at(item.key()).to_tensor();
    INFO(item.key());
    CHECK(expected.abs().max().item<double>() > 0);
    result.gradient = std::max(result.gradient, relative_error(item.value().grad(), expected));
  }
  const at::NoGradGuard no_grad;
  Batch wide = batch;
  wide.set("input", batch.input().to(type));
  const levin::nn::Detections detections = model.detect(wide);
  for (size_t i = 0; i < found->size(); ++i) {
    const Json& expected = (*found)[i];
    const auto row = static_cast<int64_t>(i), count = static_cast<int64_t>(expected.size());
    CHECK(count > 3);
    REQUIRE((detections.labels[row] >= 0).sum().item<int64_t>() == count);
    for (int64_t k = 0; k < count; ++k) {
      const auto one = expected[static_cast<size_t>(k)].get<std::vector<double>>();
      const at::Tensor box = detections.boxes[row][k];
      const at::Tensor shape_of_box = at::cat({box.narrow(0, 0, 2), box.narrow(0, 2, 2) - box.narrow(0, 0, 2)});
      CHECK(std::abs(detections.scores[row][k].item<double>() - one[0]) < 1e-5);
      CHECK(detections.labels[row][k].item<int64_t>() == static_cast<int64_t>(one[1]));
      CHECK((shape_of_box - at::tensor({one[2], one[3], one[4], one[5]}, at::kFloat)).abs().max().item<double>() <
            1e-3);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("losses, gradients and detections of FCOS are those of the network by hand") {
  const FCOSOptions small = {.num_classes = 3, .width = 8, .channels = 16, .head_layers = 1, .max_detections = 20};
  FCOSOptions fine = small;
  fine.first_stride = 4;
  fine.levels = 2;
  fine.num_classes = 1;
  FCOSOptions bare = small;
  bare.head_layers = 0;
  bare.levels = 1;
  for (const FCOSOptions& options : {small, fine, bare}) {
    // A width that is no multiple of the strides.
    const auto result = compared(options, drawn_batch(96, 72, options.num_classes), at::kFloat);
    if (!result) return;
    CHECK(result->loss < 1e-5);
    CHECK(result->gradient < 1e-4);
  }
  const auto exact = compared(small, drawn_batch(96, 72, 3), at::kDouble);
  CHECK(exact->loss < 1e-6);  // the targets are float32
  CHECK(exact->gradient < 1e-5);
}

TEST_CASE("images without objects teach FCOS that nothing is there, and crowds are not learned") {
  at::manual_seed(1);
  FCOS model({.num_classes = 2, .width = 8, .channels = 8, .levels = 2, .head_layers = 1});
  Batch batch = drawn_batch(32, 32, 2);
  const auto losses = [&](const Batch& one) {
    const auto output = model.forward(one.input());
    return levin::nn::fcos_losses(output, levin::nn::fcos_targets(output, one["boxes"], one["labels"]));
  };
  Batch empty = batch;
  empty.set("labels", at::full({2, 9}, -1, at::kLong));
  const auto of_empty = losses(empty);
  CHECK(of_empty.classes.item<double>() > 0);
  CHECK(of_empty.boxes.item<double>() == 0);
  CHECK(of_empty.centerness.item<double>() == 0);
  (of_empty.classes + of_empty.boxes + of_empty.centerness).backward();
  for (const at::Tensor& parameter : model.parameters())
    if (parameter.grad().defined()) CHECK(parameter.grad().isfinite().all().item<bool>());

  batch.set("iscrowd", at::ones({2, 9}, at::kBool));
  RecordingSink sink;
  levin::StepContext context;
  context.sink = &sink;
  levin::ModuleAccess::set_context(model, &context);
  CHECK(model.training_step(batch, 0).loss.item<double>() == of_empty.classes.item<double>());
  CHECK(sink.values.at("train_loss") == of_empty.classes.item<double>());
  levin::ModuleAccess::set_context(model, nullptr);
}

TEST_CASE("FCOS evaluates and predicts in pixels of the images' files") {
  FCOS model({.num_classes = 2, .width = 8, .channels = 8, .levels = 1, .head_layers = 0, .score_threshold = 0});
  model.eval();
  Batch batch = drawn_batch(32, 32, 2);
  const Batch alone = model.predict_step(batch, 0);
  CHECK(alone["boxes"].sizes() == at::IntArrayRef({2, 100, 4}));
  CHECK(alone["labels"].min().item<int64_t>() >= -1);
  batch.set("scale", at::tensor({0.5, 2.0, 1.0, 1.0}, at::kFloat).view({2, 2}));
  const Batch scaled = model.predict_step(batch, 0);
  const at::Tensor factors = at::tensor({2.0, 0.5, 2.0, 0.5}, at::kFloat);
  CHECK(at::equal(scaled["boxes"][0], alone["boxes"][0] * factors));
  CHECK(at::equal(scaled["boxes"][1], alone["boxes"][1]));

  RecordingSink sink;
  levin::StepContext context;
  context.sink = &sink;
  levin::ModuleAccess::set_context(model, &context);
  model.validation_step(batch, 0);
  model.test_step(batch, 0);
  levin::ModuleAccess::set_context(model, nullptr);
  levin::metrics::MeanAveragePrecision map;
  const at::Tensor own = batch["boxes"] / batch["scale"].repeat({1, 2}).unsqueeze(1);
  map.update(scaled["boxes"], scaled["scores"], scaled["labels"], own, batch["labels"]);
  CHECK(sink.metrics.at("val_map")->compute().item<double>() == map.compute().item<double>());
  CHECK(sink.metrics.contains("test_map_50"));
  CHECK(sink.values.at("val_loss") == sink.values.at("test_loss"));
}

TEST_CASE("FCOS refuses options and batches that do not fit, and says what to do") {
  const auto refused = [](const FCOSOptions& options) { return error_text<UsageError>([&] { FCOS{options}; }); };
  CHECK(contains(refused({.width = 12}), "width 12 and channels 64 must be multiples of 8"));
  CHECK(contains(refused({.first_stride = 12}), "FCOS.first_stride: must be 4, 8, 16 or another power of 2, got 12"));
  CHECK(contains(refused({.num_classes = 0}), "num_classes"));
  FCOS model({.num_classes = 2, .width = 8, .channels = 8, .levels = 1, .head_layers = 0});
  const Batch batch = drawn_batch(32, 32, 2);
  const auto says = [&](const char* name, const at::Tensor& other) {
    Batch changed = batch;
    changed.set(name, other);
    return error_text<UsageError>([&] { model.training_step(changed, 0); });
  };
  CHECK(contains(says("input", at::zeros({2, 1, 32, 32})),
                 "floating images [batch, 3, height, width], got [2, 1, 32, 32]"));
  CHECK(contains(says("labels", at::zeros({2, 9})), "int64 labels [batch, most]"));
  CHECK(contains(says("labels", at::full({2, 9}, 2, at::kLong)), "a label is class 2, and the model has 2 classes"));
}
