// The mean average precision of detected boxes against COCO's definition, computed slowly in Python.
#include <levin/modules/metrics/mean_average_precision.h>
#include <ATen/ATen.h>
#include <levin/core/state/state_file.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/catch.h"
#include "tests/environment_number.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/temporary_folder.h"
#include "tests/thread_comm.h"

namespace {

using levin::UsageError;
using levin::metrics::MeanAveragePrecision;
using Json = nlohmann::ordered_json;
using BoxBatch = std::vector<at::Tensor>;

struct DrawnBoxes {
  int64_t images = 3, detections = 12, targets = 5, labels = 3;
  double side = 200;
  bool whole = false;   ///< coordinates, and scores of few values, so that many are equal
  bool crowds = false;  ///< with iscrowd and area
};

/// Draws targets, and detections that are moved targets or elsewhere; some of both are only filling.
BoxBatch draw(std::mt19937& random, const DrawnBoxes& how) {
  const auto uniform = [&](double low, double high) {
    const double value = std::uniform_real_distribution<double>(low, high)(random);
    return how.whole ? std::round(value) : value;
  };
  const auto number = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  BoxBatch batch = {at::zeros({how.images, how.detections, 4}), at::zeros({how.images, how.detections}),
                    at::full({how.images, how.detections}, -1, at::kLong), at::zeros({how.images, how.targets, 4}),
                    at::full({how.images, how.targets}, -1, at::kLong)};
  if (how.crowds) {
    batch.push_back(at::zeros({how.images, how.targets}, at::kLong));
    batch.push_back(at::zeros({how.images, how.targets}));
  }
  const auto set = [](at::Tensor row, const std::array<double, 4>& box) {
    for (int64_t i = 0; i < 4; ++i) row[i].fill_(box[static_cast<size_t>(i)]);
  };
  for (int64_t image = 0; image < how.images; ++image) {
    std::vector<std::array<double, 4>> boxes;
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < how.targets; ++i) {
      const double x = uniform(0, how.side), y = uniform(0, how.side), most = number(2) == 0 ? 20 : how.side / 2;
      boxes.push_back({x, y, x + uniform(1, most), y + uniform(1, most)});
      labels.push_back(number(how.labels - 1));
      set(batch[3][image][i], boxes.back());
      if (number(4) > 0) batch[4][image][i].fill_(labels.back());
      if (!how.crowds) continue;
      batch[5][image][i].fill_(number(3) == 0);
      if (number(1) == 0) batch[6][image][i].fill_(uniform(1, 12000));
    }
    for (int64_t i = 0; i < how.detections; ++i) {
      const double x = uniform(0, how.side), y = uniform(0, how.side);
      std::array<double, 4> box = {x, y, x + uniform(1, 60), y + uniform(1, 60)};
      int64_t label = number(how.labels);
      if (how.targets > 0 && number(3) > 0) {
        const auto from = static_cast<size_t>(number(how.targets - 1));
        box = boxes[from];
        label = number(5) == 0 ? label : labels[from];
        const double size = std::max(1.0, (box[2] - box[0] + box[3] - box[1]) / 12);
        for (double& side : box) side += uniform(-size, size);
      }
      set(batch[0][image][i], box);
      batch[1][image][i].fill_(how.whole ? static_cast<double>(number(4)) / 4 : uniform(0, 1));
      if (number(5) > 0) batch[2][image][i].fill_(label);
    }
  }
  return batch;
}

std::map<std::string, std::vector<BoxBatch>> drawn_data(unsigned seed) {
  std::mt19937 random(seed);
  const auto batches = [&](const DrawnBoxes& how) {
    std::vector<BoxBatch> all;
    for (const int64_t images : {3, 1, 2}) {
      DrawnBoxes one = how;
      one.images = images;
      one.detections = how.detections == 0 ? 0 : how.detections + images;
      all.push_back(draw(random, one));
    }
    return all;
  };
  return {{"random", batches({})},
          {"ties", batches({.side = 60, .whole = true})},
          {"crowds", batches({.targets = 6, .crowds = true})},
          {"tied crowds", batches({.targets = 6, .side = 60, .whole = true, .crowds = true})},
          {"many", batches({.detections = 120, .targets = 9, .labels = 1})},
          {"no detections", batches({.detections = 0})},
          {"no targets", batches({.targets = 0})},
          {"no boxes", batches({.detections = 0, .targets = 0})},
          {"nothing", {}}};
}

std::vector<Json> drawn_options() {
  std::vector<Json> all;
  for (const auto& [word, value] : levin::kWords<levin::metrics::DetectionValue>) {
    all.push_back({{"value", std::string(word)}});
    all.push_back({{"value", std::string(word)}, {"class_metrics", true}});
  }
  for (const std::string box_format : {"xywh", "cxcywh"}) all.push_back({{"box_format", box_format}});
  all.push_back({{"average", "micro"}});
  all.push_back({{"average", "micro"}, {"value", "mar_10"}});
  all.push_back({{"iou_thresholds", {0.3, 0.5}}, {"rec_thresholds", {0.0, 0.25, 1.0}}});
  all.push_back({{"value", "map_75"}, {"iou_thresholds", {0.3, 0.5}}});
  all.push_back({{"value", "mar_1"}, {"max_detection_thresholds", {7, 2, 3}}});
  all.push_back({{"value", "mar_100"}, {"max_detection_thresholds", {1, 2, 3}}});
  return all;
}

MeanAveragePrecision made(const Json& json) {
  MeanAveragePrecision::Options options;
  levin::schema_of<MeanAveragePrecision::Options>().set(&options, "", json);
  return MeanAveragePrecision(options);
}

MeanAveragePrecision updated(const Json& options, const std::vector<BoxBatch>& batches) {
  MeanAveragePrecision metric = made(options);
  for (const BoxBatch& batch : batches) metric.update_all(batch);
  return metric;
}

}  // namespace

TEST_CASE("the mean average precision is COCO's on random boxes, crowds, ties, and without boxes") {
  const int64_t rounds = number_from_environment("LEVIN_DETECTION_ROUNDS", 1);
  for (int64_t round = 0; round < rounds; ++round) {
    const auto data = drawn_data(static_cast<unsigned>(round));
    const TemporaryFolder folder;
    levin::State saved = levin::State::dict();
    Json cases = Json::array();
    for (const auto& [name, batches] : data) {
      saved[name] = levin::State::list();
      for (const BoxBatch& batch : batches) {
        levin::State tensors = levin::State::list();
        for (const at::Tensor& one : batch) tensors.push_back(one);
        saved[name].push_back(tensors);
      }
      for (const Json& options : drawn_options()) cases.push_back({name, options});
    }
    levin::save_state(saved, folder / "data.pt");
    const auto expected = python_reference("map", cases, (folder / "data.pt").string());
    if (!expected) return;
    std::map<std::string, int> between;
    for (size_t i = 0; i < cases.size(); ++i) {
      INFO("round " << round << " " << cases[i].dump() << ": expected " << (*expected)[i].dump());
      const at::Tensor value = updated(cases[i][1], data.at(cases[i][0].get<std::string>())).compute();
      INFO("got " << value);
      const Json& wanted = (*expected)[i];
      const auto numbers =
          wanted.is_array() ? wanted.get<std::vector<double>>() : std::vector<double>{wanted.get<double>()};
      REQUIRE(value.numel() == static_cast<int64_t>(numbers.size()));
      CHECK(value.dim() == (wanted.is_array() ? 1 : 0));
      const at::Tensor off = (value.reshape({-1}) - at::tensor(numbers, at::kDouble)).abs();
      CHECK((off.numel() == 0 || off.max().item<double>() < 1e-9));
      between[cases[i][0].get<std::string>()] += numbers.size() == 1 && numbers[0] > 0 && numbers[0] < 1;
    }
    for (const char* name : {"random", "ties", "crowds", "tied crowds", "many"}) CHECK(between[name] > 5);
  }
}

TEST_CASE("three ranks compute the mean average precision of all images, and a saved state continues") {
  const std::vector<BoxBatch> batches = drawn_data(5).at("crowds");
  const at::Tensor whole = updated(Json::object(), batches).compute();
  std::vector<double> of_ranks(3);
  levin::run_ranks(3, [&](levin::Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    MeanAveragePrecision metric;
    if (rank == 0) metric.update_all(batches[0]);
    if (rank == 1) {
      metric.update_all(batches[1]);
      metric.update_all(batches[2]);
    }
    metric.sync(comm);
    of_ranks[rank] = metric.compute().item<double>();
  });
  for (const double value : of_ranks) CHECK(value == whole.item<double>());
  MeanAveragePrecision earlier = updated(Json::object(), {batches[0]}), later = updated(Json::object(), {batches[1]});
  later.prepend_state_dict(earlier.state_dict());
  later.update_all(batches[2]);
  CHECK(later.compute().item<double>() == whole.item<double>());
}

TEST_CASE("boxes that do not fit a mean average precision are refused, and count nothing") {
  const BoxBatch good = drawn_data(1).at("crowds")[0];
  MeanAveragePrecision metric;
  const auto says = [&](BoxBatch batch, const std::string& part) {
    const std::string text = error_text<UsageError>([&] { metric.update_all(batch); });
    INFO(text);
    CHECK(contains(text, part));
    CHECK(metric.compute().item<double>() == -1);
  };
  const auto with = [&](size_t index, const at::Tensor& other) {
    BoxBatch batch = good;
    batch[index] = other;
    return batch;
  };
  says({good.begin(), good.begin() + 4}, "boxes and labels of targets, and then iscrowd and area if wanted, got 4");
  says(with(0, good[0].narrow(2, 0, 3)), "boxes of detections, floating [images, boxes, 4]");
  says(with(2, good[2].to(at::kFloat)), "integer labels [images, boxes], got");
  says(with(4, good[4].narrow(1, 0, 2)), "boxes of targets");
  says(with(1, good[1].narrow(1, 0, 2)), "a floating score for each detection");
  says(with(6, good[6].narrow(1, 0, 2)), "area [3, 2]");
  CHECK(contains(error_text<UsageError>([] { MeanAveragePrecision({.max_detection_thresholds = {1, 2}}); }),
                 "max_detection_thresholds: expected 3 numbers, got 2"));
  CHECK(contains(error_text<UsageError>([] { MeanAveragePrecision({.iou_thresholds = {1.5}}); }), "iou_thresholds"));
  const at::Tensor nan = at::full_like(good[0], std::nan(""));
  metric.update_all(with(0, nan));
  CHECK(metric.compute().item<double>() == 0);  // a box without numbers lies in no target
}
