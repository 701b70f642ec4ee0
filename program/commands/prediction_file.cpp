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

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileKinds = ".csv, .jsonl, .npy or, for detections, .json";

/// All samples of one loader: the numbers of each named tensor on the CPU, in double or int64.
struct PredictedValues {
  struct Column {
    std::string name = {};
    at::Tensor values = {};            ///< [numbers], sample after sample
    std::vector<int64_t> begins = {};  ///< where those of each sample begin, and the end
    bool is_list = false;              ///< a sample has several values, or a list of one
  };
  std::vector<Column> columns = {};
  int64_t samples = 0;
  at::Tensor probabilities = {};  ///< [samples, classes]; undefined if the values are not probabilities
};

/// In a predict_step's Batch, "input" is the prediction.
std::string shown_name(const std::string& name) { return name == "input" ? "prediction" : name; }

/// Returns a tensor of each batch, on the CPU.
std::vector<at::Tensor> parts_of(const std::vector<Batch>& batches, const std::string& name) {
  std::vector<at::Tensor> parts;
  for (const Batch& batch : batches) {
    if (batch.is_list(name))
      throw UsageError("predict --output: \"", name, "\" is a list for each sample, and a file holds numbers alone");
    parts.push_back(batch[name].cpu());
    if (parts.back().dim() == 0)
      throw UsageError("predict --output: \"", name, "\" is one number for a whole batch; return [samples, ...]");
  }
  return parts;
}

/// Returns the first part whose samples have another size than those of the first one; the end: there is none.
auto other_size(const std::vector<at::Tensor>& parts) {
  return std::ranges::find_if(
      parts, [&](const at::Tensor& part) { return part.sizes().slice(1) != parts.front().sizes().slice(1); });
}

/// Throws UsageError if the samples of two parts have different sizes.
void check_sizes(const std::vector<at::Tensor>& parts, const std::string& name) {
  if (const auto other = other_size(parts); other != parts.end())
    throw UsageError("predict --output: \"", name, "\" is ", parts.front().sizes(), " in one batch and ",
                     other->sizes(),
                     " in another; a table or an array holds samples of one size: write JSON lines (.jsonl), predict ",
                     "data of one length, or make one prediction for each sample");
}

bool are_probabilities(const at::Tensor& values) {
  if (values.dim() != 2 || values.size(0) == 0 || values.size(1) < 2 || !values.is_floating_point()) return false;
  constexpr double kNearOne = 1e-2;  // 16-bit outputs are rounded
  const at::Tensor sums = values.to(at::kDouble).sum(1);
  return values.ge(0).all().item<bool>() && (sums - 1).abs().lt(kNearOne).all().item<bool>();
}

PredictedValues::Column column_of(const std::string& name, const std::vector<at::Tensor>& parts) {
  PredictedValues::Column column{.name = shown_name(name), .begins = {0}, .is_list = parts.front().dim() > 1};
  std::vector<at::Tensor> numbers;
  for (const at::Tensor& part : parts) {
    numbers.push_back(part.flatten());
    for (int64_t i = 0; i < part.size(0); ++i)
      column.begins.push_back(column.begins.back() + part.numel() / part.size(0));
  }
  const at::Tensor all = at::cat(numbers);
  const bool is_whole = at::isIntegralType(all.scalar_type(), /*includeBool=*/true);
  column.values = all.to(is_whole ? at::kLong : at::kDouble);
  return column;
}

/// `has_lines`: samples may have different sizes.
PredictedValues values_of(const std::vector<Batch>& batches, bool has_lines) {
  PredictedValues all;
  if (batches.empty()) return all;
  if (batches[0].is_own())
    throw UsageError(
        "predict --output: predict_step returns a struct of its own, whose numbers nobody knows; return a Batch of "
        "tensors");
  for (const std::string& name : batches[0].names()) {
    const std::vector<at::Tensor> parts = parts_of(batches, name);
    if (!has_lines) check_sizes(parts, name);
    if (parts.front().is_complex())
      throw UsageError("predict --output: \"", name, "\" is complex; return real numbers");
    if (name == "input" && other_size(parts) == parts.end())
      if (const at::Tensor whole = at::cat(parts); are_probabilities(whole))
        all.probabilities = whole.to(at::kDouble).contiguous();
    all.columns.push_back(column_of(name, parts));
    const int64_t samples = std::ssize(all.columns.back().begins) - 1;
    if (all.columns.size() > 1 && samples != all.samples)
      throw UsageError("predict --output: \"", name, "\" has ", samples, " samples, and \"", batches[0].names()[0],
                       "\" has ", all.samples, "; return as many of each");
    all.samples = samples;
  }
  return all;
}

Json number(const at::Tensor& values, int64_t place) {
  if (values.scalar_type() == at::kLong) return values.const_data_ptr<int64_t>()[place];
  return values.const_data_ptr<double>()[place];
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
    const auto probability = [&](int64_t i) { return number(probabilities, row * probabilities.size(1) + i); };
    line["probability"] = probability(likeliest);
    for (int64_t i = 0; i < probabilities.size(1); ++i) {
      const std::string name = class_name(classes, i);
      if (lists)
        line["probabilities"][name] = probability(i);
      else
        line["p(" + name + ")"] = probability(i);
    }
  }
  for (const PredictedValues::Column& column : all.columns) {
    if (probabilities.defined() && column.name == "prediction") continue;
    Json values = Json::array();
    const auto sample = static_cast<size_t>(row);
    for (int64_t i = column.begins[sample]; i < column.begins[sample + 1]; ++i)
      values.push_back(number(column.values, i));
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
    const PredictedValues all = values_of(by_loader[loader], /*has_lines=*/!as_csv);
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
  const std::vector<at::Tensor> parts = parts_of(by_loader[0], "input");
  check_sizes(parts, "input");
  return at::cat(parts);
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

/// Throws UsageError if the folder takes no file, or not one byte of it. What is there stays as it is.
void check_room(const fs::path& path, const fs::path& folder) {
  try {
    AtomicFile draft(path);
    draft.write("\n", 1);
    if (!draft.has_failed()) return;
  } catch (const UsageError& error) {
    throw UsageError("--output: ", error.what());
  }
  throw UsageError("--output: ", path.string(), ": nothing can be written in ", folder.string(),
                   ", which may be full; make room there, or name a file in another folder");
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
  check_room(path_, folder);
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
