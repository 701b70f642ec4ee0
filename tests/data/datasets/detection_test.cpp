// Images with boxes, from COCO's files: their batches, transforms, parts, and files that are wrong.
#include <levin/data/datasets/detection.h>
#include <ATen/ATen.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/files/image_file.h>
#include <levin/data/registry.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/environment_number.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::UsageError;
using levin::data::Dataset;
using levin::data::Detection;
using levin::data::DetectionOptions;
using levin::data::Split;
using levin::testing::plain;
using Json = nlohmann::ordered_json;

namespace {

/// Three images of other sizes, with two, no and three objects of the categories 7 (cup) and 3 (box).
struct CocoFolder {
  CocoFolder() {
    std::filesystem::create_directories(folder / "images");
    add("a.png", 20, 40, 0);
    add("b.png", 30, 30, 1);
    add("c.png", 50, 25, 2);
    json["images"] = {{{"id", 11}, {"file_name", "a.png"}, {"height", 20}, {"width", 40}},
                      {{"id", 5}, {"file_name", "b.png"}, {"height", 30}, {"width", 30}},
                      {{"id", 6}, {"file_name", "c.png"}, {"height", 50}, {"width", 25}}};
    json["categories"] = {{{"id", 7}, {"name", "cup"}}, {{"id", 3}, {"name", "box"}}};
    json["annotations"] = {object(11, 7, {4, 2, 10, 8}), object(11, 3, {30, 10, 20, 5}), object(6, 3, {0, 0, 25, 50}),
                           object(6, 7, {1, 1, 2.5, 4}), object(6, 7, {10, 40, 3, 3})};
    json["annotations"][1]["iscrowd"] = 1;
    json["annotations"][0]["area"] = 33.5;
    json["annotations"][0]["segmentation"] = {{4, 2, 14, 2, 14, 10}};
  }
  static Json object(int64_t image, int64_t category, std::vector<double> box) {
    return {{"id", 1}, {"image_id", image}, {"category_id", category}, {"bbox", box}};
  }
  void add(const std::string& name, int64_t height, int64_t width, int shade) const {
    levin::data::write_png(folder / "images" / name, plain(height, width, 40 + 50 * shade, 100, 200));
  }
  DetectionOptions options() const {
    std::ofstream(folder / "boxes.json") << json.dump(1);
    return {.images = (folder / "images").string(),
            .annotations = (folder / "boxes.json").string(),
            .image_size = 40,
            .val_fraction = 0,
            .batch_size = 3};
  }
  std::string refused() const {
    const DetectionOptions read = options();
    return error_text<UsageError>([&] { Detection(read).setup(levin::Stage::Fit); });
  }

  TemporaryFolder folder;
  Json json = Json::object();
};

levin::data::DatasetPtr dataset_of(const DetectionOptions& options, Split split = Split::Train,
                                   levin::Stage stage = levin::Stage::Fit) {
  Detection data(options);
  data.setup(stage);
  return data.dataset(split);
}

Batch detected_batch(const Dataset& dataset, std::vector<int64_t> list, int64_t epoch = 0) {
  levin::data::Indices indices(std::move(list));
  indices.seed = 5;
  indices.epoch = epoch;
  Batch batch;
  dataset.get_batch(indices, batch);
  return batch;
}

bool is_near(const at::Tensor& some, std::vector<double> wanted) {
  return at::allclose(some.flatten().to(at::kDouble), at::tensor(wanted, at::kDouble), 0, 1e-4);
}

}  // namespace

TEST_CASE("images with boxes become one batch: resized, with a border, boxes in pixels of the input") {
  const CocoFolder coco;
  const auto dataset = dataset_of(coco.options());
  CHECK(dataset->class_names() == std::vector<std::string>{"box", "cup"});
  const Batch batch = detected_batch(*dataset, {0, 1, 2});
  CHECK(batch.input().sizes() == at::IntArrayRef({3, 3, 40, 40}));
  CHECK(batch["boxes"].sizes() == at::IntArrayRef({3, 3, 4}));
  CHECK(at::equal(batch["labels"], at::tensor({1, 0, -1, -1, -1, -1, 0, 1, 1}, at::kLong).view({3, 3})));
  CHECK(is_near(batch["boxes"][0], {4, 2, 14, 10, 30, 10, 40, 15, 0, 0, 0, 0}));  // cut at the edge of the image
  CHECK(is_near(batch["boxes"][2], {0, 0, 20, 40, 0.8, 0.8, 2.8, 4, 8, 32, 10.4, 34.4}));
  CHECK(is_near(batch["scale"], {1, 1, 40. / 30, 40. / 30, 0.8, 0.8}));
  CHECK(at::equal(batch["image_id"], at::tensor({11, 5, 6}, at::kLong)));
  CHECK(batch["iscrowd"].sum().item<int64_t>() == 1);
  CHECK(batch["iscrowd"][0][1].item<bool>());
  CHECK(batch["area"][0][0].item<double>() == 33.5);
  const double red = (40 / 255.0 - 0.485) / 0.229;
  CHECK(std::abs(batch.input()[0][0][5][5].item<double>() - red) < 1e-5);
  CHECK(batch.input()[0][0].narrow(0, 20, 20).abs().max().item<double>() == 0);  // the border
  CHECK(batch.input()[2][0].narrow(1, 20, 20).abs().max().item<double>() == 0);

  levin::data::Rng rng(0, 0, 0);
  const Batch one = dataset->get(2, rng);
  for (const std::string& name : batch.names()) CHECK(at::equal(one[name], batch[name][2]));

  DetectionOptions exact = coco.options();
  exact.resize = levin::data::DetectionResize::Exact;
  const Batch stretched = detected_batch(*dataset_of(exact), {0, 2});
  CHECK(is_near(stretched["scale"], {1, 2, 1.6, 0.8}));
  CHECK(is_near(stretched["boxes"][0].narrow(0, 0, 1), {4, 4, 14, 20}));
  CHECK(stretched.input()[0][0].sub(red).abs().max().item<double>() < 1e-5);
}

TEST_CASE("boxes move with their images, and are left out where a crop leaves little of them") {
  const CocoFolder coco;
  const auto with = [&](const Json& transforms, double least) {
    DetectionOptions options = coco.options();
    options.min_box_area = least;
    levin::schema_of<DetectionOptions>().set(&options, "data", Json{{"transforms", transforms}});
    return options;
  };
  const Batch flipped = detected_batch(*dataset_of(with({{{"class", "RandomHorizontalFlip"}, {"p", 1}}}, 0)), {0});
  CHECK(is_near(flipped["boxes"][0], {26, 2, 36, 10, 0, 10, 10, 15, 0, 0, 0, 0}));
  CHECK(at::equal(flipped["labels"], at::tensor({1, 0, -1}, at::kLong).view({1, 3})));
  CHECK(flipped["iscrowd"][0][1].item<bool>());
  // The middle 20 x 20 pixels of 20 x 40: of the first box 4 columns are left, of the second none.
  const Json crop = {{{"class", "CenterCrop"}, {"size", {20, 20}}}};
  const Batch cropped = detected_batch(*dataset_of(with(crop, 32)), {0});
  CHECK(is_near(cropped["boxes"][0].narrow(0, 0, 1), {0, 4, 8, 20}));
  CHECK(at::equal(cropped["labels"], at::tensor({1, -1, -1}, at::kLong).view({1, 3})));
  CHECK(detected_batch(*dataset_of(with(crop, 33)), {0})["labels"].max().item<int64_t>() == -1);

  const Json random = {{{"class", "RandomResizedCrop"}, {"size", 32}}, "RandomHorizontalFlip"};
  const auto dataset = dataset_of(with(random, 1));
  const Batch first = detected_batch(*dataset, {0, 2}), other = detected_batch(*dataset, {2, 1, 0});
  for (const std::string& name : first.names()) CHECK(at::equal(first[name][0], other[name][2]));
  CHECK_FALSE(at::equal(detected_batch(*dataset, {0, 2}, 1)["boxes"], first["boxes"]));
}

TEST_CASE("validation, test and predict have their own files, with the classes of training") {
  CocoFolder coco;
  DetectionOptions options = coco.options();
  Json other = coco.json;
  other["categories"] = {{{"id", 1}, {"name", "cup"}}};
  other["annotations"] = {CocoFolder::object(5, 1, {1, 2, 3, 4})};
  std::ofstream(coco.folder / "other.json") << other.dump();
  options.val_annotations = options.test_annotations = (coco.folder / "other.json").string();
  CHECK(detected_batch(*dataset_of(options, Split::Val), {1})["labels"].item<int64_t>() == 1);
  const auto test = dataset_of(options, Split::Predict, levin::Stage::Predict);
  const auto& annotations = dynamic_cast<const levin::data::DetectionDataset&>(*test).annotations();
  CHECK(annotations.category_ids == std::vector<int64_t>{3, 1});  // that of box is known from training alone
  options.predict_images = (coco.folder / "images").string();
  const auto alone = dataset_of(options, Split::Predict, levin::Stage::Predict);
  CHECK(alone->size() == 3);
  CHECK(at::equal(detected_batch(*alone, {0, 2})["image_id"], at::tensor({1, 3}, at::kLong)));

  DetectionOptions divided = coco.options();
  divided.val_fraction = 0.34;
  CHECK(dataset_of(divided)->size() == 2);
  CHECK(dataset_of(divided, Split::Val)->size() == 1);

  Detection trained(options), fresh(coco.options());
  const levin::State learned = trained.learned_state();
  std::filesystem::remove(coco.folder / "boxes.json");
  fresh.load_learned_state(learned);
  CHECK(fresh.learned_state().at("category_ids").items().size() == 2);
}

TEST_CASE("annotations that are wrong are refused with their place") {
  const auto says = [](const std::function<void(Json&)>& change, const std::string& part) {
    CocoFolder coco;
    change(coco.json);
    const std::string text = coco.refused();
    INFO(text);
    CHECK(contains(text, "boxes.json: " + part));
  };
  says([](Json& json) { json.erase("images"); }, "expected a list \"images\"");
  says([](Json& json) { json = Json::array(); }, "expected an object with images, annotations and categories");
  says([](Json& json) { json["images"] = Json::array(); }, "annotations[0].image_id: there is no image 11");
  says([](Json& json) { json["images"] = json["annotations"] = Json::array(); }, "has no images");
  says([](Json& json) { json["images"][1] = 3; }, "images[1]: expected an object");
  says([](Json& json) { json["images"][1]["id"] = 11; }, "images[1].id: image 11 is given twice");
  says([](Json& json) { json["images"][1].erase("file_name"); }, "images[1].file_name: missing");
  says([](Json& json) { json["images"][1]["file_name"] = "../b.png"; }, "images[1].file_name: ../b.png leads out of");
  says([](Json& json) { json["images"][1]["file_name"] = "/b.png"; }, "images[1].file_name: /b.png leads out of");
  says([](Json& json) { json["images"][1]["width"] = -4; }, "images[1].width: expected pixels from 1 to");
  says([](Json& json) { json["images"][1]["width"] = 1.5; }, "images[1].width: expected a whole number");
  says([](Json& json) { json["categories"][1]["id"] = 7; }, "categories[1].id: category 7 is given twice");
  says([](Json& json) { json["categories"][1]["name"] = "cup"; }, "two categories have the name cup");
  says([](Json& json) { json["categories"][1]["name"] = 3; }, "categories[1].name: expected a text");
  says([](Json& json) { json["annotations"][2]["image_id"] = 4; }, "annotations[2].image_id: there is no image 4");
  says([](Json& json) { json["annotations"][2]["category_id"] = 4; },
       "annotations[2].category_id: there is no category");
  says([](Json& json) { json["annotations"][2]["bbox"] = {1, 2, 3}; },
       "annotations[2].bbox: expected [x, y, width, height]");
  says([](Json& json) { json["annotations"][2]["bbox"][2] = -1; },
       "annotations[2].bbox: expected a width and a height");
  says([](Json& json) { json["annotations"][2]["bbox"][0] = 1e300; },
       "annotations[2].bbox: expected numbers of pixels");
  says([](Json& json) { json["annotations"][2]["iscrowd"] = 2; }, "annotations[2].iscrowd: expected 0 or 1");
  says([](Json& json) { json["annotations"][2]["area"] = "x"; }, "annotations[2].area: expected numbers of pixels");

  CocoFolder coco;
  coco.json["annotations"][3]["bbox"] = {100, 2, 5, 5};
  const DetectionOptions options = coco.options();
  {
    const CapturedStderr captured;
    dataset_of(options);
    CHECK(contains(captured.text(), "boxes.json: 1 box is without area in the image, and left out"));
  }
  coco.add("a.png", 21, 40, 0);
  CHECK(contains(error_text<UsageError>([&] { detected_batch(*dataset_of(options), {0}); }),
                 "a.png: the image is 40x21 pixels (width x height), but its annotations are for 40x20"));
  std::ofstream(coco.folder / "boxes.json") << "{\"images\": [\n1,,2]}";
  CHECK(contains(error_text<UsageError>([&] { dataset_of(options); }), "boxes.json: is no JSON text, line 2"));
  std::ofstream(coco.folder / "boxes.json") << std::string(100000, '[');
  CHECK(contains(error_text<UsageError>([&] { dataset_of(options); }), "levels of lists and objects"));
}

TEST_CASE("annotations with random damage are read or refused, never more") {
  const CocoFolder coco;
  const DetectionOptions options = coco.options();
  const std::string good = read_bytes(coco.folder / "boxes.json");
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {"-1",     "1e999", "null", "[]", "{}", "\"x\"", "99999999999999999999",
                                           "\"id\"", ","};
  int64_t refused = 0;
  const int64_t rounds = number_from_environment("LEVIN_DETECTION_FUZZ", 300);
  for (int64_t round = 0; round < rounds; ++round) {
    std::string bad = good;
    for (uint32_t i = 1 + random() % 3; i > 0; --i) {
      const size_t at = random() % bad.size();
      if (random() % 2 == 0)
        bad.replace(at, random() % 6, pieces[random() % pieces.size()]);
      else
        bad[at] = static_cast<char>(random());
    }
    std::ofstream(coco.folder / "boxes.json", std::ios::binary) << bad;
    try {
      levin::data::read_coco_annotations(coco.folder / "boxes.json", coco.folder / "images");
    } catch (const UsageError&) {
      ++refused;
    }
  }
  CHECK(refused > rounds / 3);
}

TEST_CASE("Detection refuses options that do not fit") {
  const CocoFolder coco;
  const auto refused = [&](const std::function<void(DetectionOptions&)>& change) {
    DetectionOptions options = coco.options();
    change(options);
    return error_text<UsageError>([&] {
      Detection data(options);
      data.setup(levin::Stage::Fit);
      data.setup(levin::Stage::Predict);
    });
  };
  CHECK(
      contains(refused([](auto& options) { options.mean = {0.1, 0.2}; }), "data.mean: expected 1 number or 3, got 2"));
  CHECK(contains(refused([](auto& options) { options.annotations = "missing.json"; }), "missing.json"));
  CHECK(contains(refused([](auto& options) { options.predict_images = "nowhere"; }),
                 "data.predict_images: no folder or file nowhere"));
  CHECK(contains(refused([](auto& options) { options.val_fraction = 0.01; }), "leaves none for validation"));
}
