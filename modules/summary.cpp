#include <levin/modules/summary.h>
#include <levin/core/options/registry.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/adapters/low_rank_adapter.h>
#include <levin/modules/observers/output_shapes.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <sstream>

namespace levin {
namespace {

/// Shortens "torch::nn::LinearImpl" to "Linear".
std::string plain_type(const std::string& qualified) {
  std::string name = detail::unqualified(qualified);
  const std::string suffix = "Impl";
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

int64_t depth_of(const std::string& path) { return 1 + std::count(path.begin(), path.end(), '.'); }

/// Returns how many weights a parameter stands for, also if it holds them as codes.
int64_t weights_in(const at::Tensor& parameter) {
  const auto adapter = adapters::adapter_of(parameter);
  return adapter && adapter->held ? adapter->held->rows * adapter->held->cols : parameter.numel();
}

struct Sizes {
  int64_t parameters = 0, trainable = 0, bytes = 0;
};

Sizes sizes_of(const torch::nn::Module& module) {
  Sizes sizes;
  std::set<const void*> seen;
  for (const at::Tensor& parameter : module.parameters()) {
    if (!seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
    sizes.parameters += weights_in(parameter);
    if (parameter.requires_grad()) sizes.trainable += parameter.numel();
    sizes.bytes += static_cast<int64_t>(parameter.nbytes());
  }
  for (const at::Tensor& buffer : module.buffers()) sizes.bytes += static_cast<int64_t>(buffer.nbytes());
  return sizes;
}

/// Formats 1234567 as "1.2 M", like PyTorch Lightning.
std::string short_number(int64_t number) {
  static constexpr std::array<const char*, 5> kUnits = {"", " K", " M", " B", " T"};
  auto value = static_cast<double>(number);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f%s" : "%.1f%s", value, kUnits[unit]);
  return text.data();
}

std::string megabytes(int64_t bytes) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3f MB", static_cast<double>(bytes) / 1e6);
  return text.data();
}

std::string shape_text(const LayerSummary& layer) {
  if (!layer.output_seen) return "-";
  std::string text = "[";
  for (size_t i = 0; i < layer.output_shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(layer.output_shape[i]);
  return text + "]";
}

using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::ostringstream text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      line += (i == 0 ? "" : " | ") + rows[r][i];
      if (i + 1 < rows[r].size()) line.append(widths[i] - rows[r][i].size(), ' ');
    }
    text << line << "\n";
    if (r == 0) {
      size_t width = 3 * (widths.size() - 1);
      for (size_t column : widths) width += column;
      text << std::string(width, '-') << "\n";
    }
  }
  return text.str();
}

}  // namespace

std::string ModuleSummary::to_text() const {
  const bool shapes = std::any_of(layers.begin(), layers.end(), [](const LayerSummary& l) { return l.output_seen; });
  std::vector<Row> rows = {{"", "Name", "Type", "Params", "Trainable"}};
  if (shapes) rows[0].push_back("Output shape");
  for (const LayerSummary& layer : layers) {
    rows.push_back({std::to_string(rows.size() - 1), layer.name, layer.type, short_number(layer.parameters),
                    short_number(layer.trainable)});
    if (shapes) rows.back().push_back(shape_text(layer));
  }
  return table(rows) + short_number(parameters) + " parameters, " + short_number(trainable) + " trainable, " +
         megabytes(bytes) + " with buffers";
}

ModuleSummary summarize(torch::nn::Module& module, int64_t max_depth, const std::function<void()>& forward) {
  ModuleSummary summary;
  const Sizes all = sizes_of(module);
  summary.parameters = all.parameters;
  summary.trainable = all.trainable;
  summary.bytes = all.bytes;
  OutputShapes shapes;
  if (forward) shapes = observe_output_shapes(module, forward);
  for (const auto& item : module.named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    if (max_depth >= 0 && depth_of(item.key()) > max_depth) continue;
    const torch::nn::Module& layer = *item.value();
    const Sizes sizes = sizes_of(layer);
    LayerSummary line{.name = item.key(),
                      .type = plain_type(layer.name()),
                      .parameters = sizes.parameters,
                      .trainable = sizes.trainable};
    if (const auto found = shapes.find(&layer); found != shapes.end()) {
      line.output_shape = found->second;
      line.output_seen = true;
    }
    summary.layers.push_back(std::move(line));
  }
  return summary;
}

}  // namespace levin
