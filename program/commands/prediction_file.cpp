#include <levin/program/commands/prediction_file.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <levin/core/options/option_type.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/console.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/csv.h>
#include <levin/data/datasets/readers/detection_dataset.h>
#include <levin/data/datasets/readers/image_folder_dataset.h>
#include <levin/data/datasets/readers/image_list_dataset.h>
#include <levin/data/files/csv_cell.h>
#include <levin/data/files/npy_file.h>
#include <levin/program/commands/coco_results.h>
#include <levin/program/commands/inspect_loader.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileKinds = ".csv, .jsonl, .npy or, for detections, .json";

/// All samples of one loader: each named tensor as [samples, values] on the CPU, in double or int64.
struct PredictedValues {
  struct Column {
    std::string name = {};
    at::Tensor values = {};
    bool is_list = false;  ///< a sample has several values, or a list of one
  };
  std::vector<Column> columns = {};
  int64_t samples = 0;
  at::Tensor probabilities = {};  ///< [samples, classes]; undefined if the values are not probabilities
};

/// In a predict_step's Batch, "input" is the prediction.
std::string shown_name(const std::string& name) { return name == "input" ? "prediction" : name; }

at::Tensor joined(const std::vector<Batch>& batches, const std::string& name) {
  std::vector<at::Tensor> parts;
  for (const Batch& batch : batches) {
    if (batch.is_list(name))
      throw UsageError("predict --output: \"", name, "\" is a list for each sample, and a file holds numbers alone");
    parts.push_back(batch[name].cpu());
    if (parts.back().dim() == 0 || parts.back().sizes().slice(1) != parts.front().sizes().slice(1))
      throw UsageError("predict --output: \"", name, "\" is ", parts.front().sizes(), " in one batch and ",
                       parts.back().sizes(), " in another; a file holds samples of one size: predict data of one ",
                       "length, or make one prediction for each sample");
  }
  return at::cat(parts);
}

bool are_probabilities(const at::Tensor& values) {
  if (values.dim() != 2 || values.size(0) == 0 || values.size(1) < 2 || !values.is_floating_point()) return false;
  constexpr double kNearOne = 1e-2;  // 16-bit outputs are rounded
  const at::Tensor sums = values.to(at::kDouble).sum(1);
  return values.ge(0).all().item<bool>() && (sums - 1).abs().lt(kNearOne).all().item<bool>();
}

PredictedValues values_of(const std::vector<Batch>& batches) {
  PredictedValues all;
  if (batches.empty()) return all;
  if (batches[0].is_own())
    throw UsageError(
        "predict --output: predict_step returns a struct of its own, whose numbers nobody knows; return a Batch of "
        "tensors");
  for (const std::string& name : batches[0].names()) {
    const at::Tensor tensor = joined(batches, name);
    if (tensor.is_complex()) throw UsageError("predict --output: \"", name, "\" is complex; return real numbers");
    if (name == "input" && are_probabilities(tensor)) all.probabilities = tensor.to(at::kDouble).contiguous();
    all.samples = tensor.size(0);
    const bool is_whole = at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
    const at::Tensor rows = tensor.reshape({tensor.size(0), -1}).to(is_whole ? at::kLong : at::kDouble).contiguous();
    all.columns.push_back({shown_name(name), rows, tensor.dim() > 1});
  }
  return all;
}

Json number(const at::Tensor& values, int64_t row, int64_t column) {
  const int64_t at = row * values.size(1) + column;
  if (values.scalar_type() == at::kLong) return values.const_data_ptr<int64_t>()[at];
  return values.const_data_ptr<double>()[at];
}

std::string class_name(const std::vector<std::string>& classes, int64_t index) {
  return classes.empty() ? std::to_string(index) : classes[static_cast<size_t>(index)];
}

/// Returns one sample's values by name, probabilities first. `lists`: several values become one list or object,
/// otherwise one entry per number.
Json row_of(const PredictedValues& all, const std::vector<std::string>& classes, int64_t row, bool lists) {
  Json line = Json::object();
  const at::Tensor& probabilities = all.probabilities;
  if (probabilities.defined()) {
    const int64_t likeliest = probabilities[row].argmax().item<int64_t>();
    line["class"] = class_name(classes, likeliest);
    line["probability"] = number(probabilities, row, likeliest);
    for (int64_t i = 0; i < probabilities.size(1); ++i) {
      const std::string name = class_name(classes, i);
      if (lists)
        line["probabilities"][name] = number(probabilities, row, i);
      else
        line["p(" + name + ")"] = number(probabilities, row, i);
    }
  }
  for (const PredictedValues::Column& column : all.columns) {
    if (probabilities.defined() && column.name == "prediction") continue;
    Json values = Json::array();
    for (int64_t i = 0; i < column.values.size(1); ++i) values.push_back(number(column.values, row, i));
    if (lists || !column.is_list)
      line[column.name] = column.is_list ? values : values.at(0);
    else
      for (size_t i = 0; i < values.size(); ++i) line[column.name + "_" + std::to_string(i)] = values[i];
  }
  return line;
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", value.get<double>());
    return text;
  }
  if (!value.is_string()) return value.dump();
  return data::csv_cell(value.get_ref<const std::string&>());
}

std::string csv_line(const Json& row, bool names) {
  std::string line;
  for (const auto& item : row.items())
    line += (line.empty() ? "" : ",") + csv_cell(names ? Json(item.key()) : item.value());
  return line + "\n";
}

/// Returns the content of a text file. In JSON, numbers that are not finite become null.
std::string text_of_rows(const std::vector<std::vector<Batch>>& by_loader, const PredictedSamples& samples,
                         bool as_csv) {
  std::string text;
  std::set<std::string> headers;
  for (size_t loader = 0; loader < by_loader.size(); ++loader) {
    const PredictedValues all = values_of(by_loader[loader]);
    const bool are_known =
        all.probabilities.defined() && static_cast<int64_t>(samples.classes.size()) == all.probabilities.size(1);
    const std::vector<std::string> classes = are_known ? samples.classes : std::vector<std::string>();
    for (int64_t row = 0; row < all.samples; ++row) {
      Json line = Json::object();
      if (by_loader.size() > 1) line["loader"] = loader;
      const auto i = static_cast<size_t>(row);
      const bool is_only = by_loader.size() == 1;
      line["input"] = is_only && i < samples.names.size()     ? Json(samples.names[i])
                      : is_only && i < samples.numbers.size() ? Json(samples.numbers[i])
                                                              : Json(row);
      line.update(row_of(all, classes, row, /*lists=*/!as_csv));
      if (as_csv && headers.insert(csv_line(line, true)).second) text += csv_line(line, true);
      text += as_csv ? csv_line(line, false) : json_text(line) + "\n";
    }
  }
  if (headers.size() > 1)
    throw UsageError("predict --output: the loaders' predictions have different columns; write JSON lines (.jsonl)");
  return text;
}

at::Tensor array_of(const std::vector<std::vector<Batch>>& by_loader) {
  if (by_loader.size() != 1 || by_loader[0].empty() || by_loader[0][0].is_own() ||
      by_loader[0][0].names() != std::vector<std::string>{"input"})
    throw UsageError(
        "predict --output: a .npy file holds one array, and these predictions are several tensors, loaders, or none; "
        "write .csv or .jsonl");
  return joined(by_loader[0], "input");
}

}  // namespace

namespace {

/// Tells which rows of a table have no prediction.
void tell_left_out(const std::vector<int64_t>& rows) {
  if (rows.empty()) return;
  constexpr size_t kMostTold = 20;
  std::string numbers;
  for (size_t i = 0; i < std::min(rows.size(), kMostTold); ++i)
    numbers += (i > 0 ? ", " : "") + std::to_string(rows[i]);
  if (rows.size() > kMostTold) numbers += " and " + std::to_string(rows.size() - kMostTold) + " more";
  console::warn(counted(static_cast<int64_t>(rows.size()), "row") +
                (rows.size() == 1 ? " lacks a value and has" : " lack a value and have") +
                " no prediction (the first row is 0): " + numbers);
}

}  // namespace

PredictedSamples predicted_samples(const data::DataModule* data) {
  if (data == nullptr) return {};
  const data::DatasetPtr dataset = dataset_of(*data, data::Split::Predict);
  PredictedSamples samples{.classes = class_names_of(*data, dataset)};
  if (!dataset) return samples;
  if (const auto* const table = dynamic_cast<const data::CsvDataset*>(dataset.get())) {
    tell_left_out(table->left_out());
    samples.numbers = table->row_numbers();
  }
  if (const auto* const detection = dynamic_cast<const data::DetectionDataset*>(dataset.get())) {
    samples.category_ids = detection->annotations().category_ids;
    for (const auto& image : detection->annotations().images) {
      samples.names.push_back(image.path);
      samples.image_ids.push_back(image.id);
    }
    return samples;
  }
  const auto* const images = dynamic_cast<const data::ImageFolderDataset*>(dataset.get());
  const auto* const listed = dynamic_cast<const data::ImageListDataset*>(dataset.get());
  if ((images && images->skipped() > 0) || (listed && listed->skipped() > 0)) {
    console::warn("images were left out, so that the predictions are numbered and not named by their files");
    return samples;
  }
  if (images)
    for (const auto& item : images->files().items) samples.names.push_back(item.path);
  if (listed) samples.names = listed->list().paths;
  return samples;
}

PredictionFile::PredictionFile(const std::string& place) : place_("--output", place), path_(followed(place_.path())) {
  const std::string kind = path_.extension().string();
  if (kind != ".csv" && kind != ".jsonl" && kind != ".npy" && kind != ".json")
    throw UsageError("--output: expected a file that ends in ", kFileKinds, ", got ", place);
  std::error_code ignored;
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) throw UsageError("--output: there is no folder ", folder.string());
}

void PredictionFile::write(const std::vector<std::vector<Batch>>& by_loader, const PredictedSamples& samples) const {
  const std::string kind = path_.extension().string();
  if (kind == ".npy")
    data::write_npy(path_, array_of(by_loader).contiguous());
  else
    write_text_file_atomically(path_, kind == ".json" ? coco_results_text(by_loader, samples)
                                                      : text_of_rows(by_loader, samples, kind == ".csv"));
  place_.finish();
}

}  // namespace levin::cli
