#include <levin/program/commands/inspect_loader.h>
#include <levin/data/datasets/tar.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace levin::cli {
namespace {

/// The most classes that are listed and that are counted.
constexpr size_t kMostListed = 20, kMostClasses = 1'000'000;

std::string batch_count(int64_t count) { return std::to_string(count) + (count == 1 ? " batch" : " batches"); }
std::string sample_count(int64_t count) { return std::to_string(count) + (count == 1 ? " sample" : " samples"); }

std::string number(double value) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string values_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return "no values";
  if (tensor.is_complex()) return "";
  const at::Tensor values = tensor.to(at::kDouble);
  return "min " + number(values.min().item<double>()) + "  mean " + number(values.mean().item<double>()) + "  max " +
         number(values.max().item<double>());
}

void print_first(std::ostream& out, const Batch& batch) {
  if (batch.is_own()) {
    out << "  first batch: a struct of the user's own with " << sample_count(batch.size()) << "\n";
    return;
  }
  std::vector<std::array<std::string, 3>> rows;
  std::array<size_t, 2> widths = {};
  for (const std::string& name : batch.names()) {
    if (batch.is_list(name)) {
      rows.push_back({name, "list of " + batch_count(static_cast<int64_t>(batch.list(name).size())), ""});
    } else {
      rows.push_back({name, data::describe(batch[name]), values_of(batch[name])});
    }
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], rows.back()[i].size());
  }
  for (const auto& [name, kind, values] : rows) {
    out << "  " << name << std::string(widths[0] - name.size() + 2, ' ') << kind;
    if (!values.empty()) out << std::string(widths[1] - kind.size() + 2, ' ') << values;
    out << "\n";
  }
}

void print_classes(std::ostream& out, const LoaderFindings& findings, const std::vector<std::string>& class_names) {
  const auto& classes = *findings.classes;
  out << "  " << classes.size() << (classes.size() == 1 ? " class" : " classes") << " in "
      << (findings.is_whole ? "all " : "the first ") << sample_count(findings.samples) << ": ";
  size_t listed = 0;
  for (const auto& [value, count] : classes) {
    if (listed++ == kMostListed) break;
    out << (listed > 1 ? ", " : "") << class_text(value, class_names) << " " << count;
  }
  if (classes.size() > kMostListed) {
    const auto [least, most] = std::ranges::minmax_element(classes, {}, [](const auto& item) { return item.second; });
    out << ", ...; from " << least->second << " to " << most->second << " of each";
  }
  out << "\n";
}

void count_classes(const Batch& batch, LoaderFindings& findings) {
  if (!findings.classes) return;
  const bool has_target = !batch.is_own() && batch.contains("target") && !batch.is_list("target");
  if (!has_target || batch.target().dim() != 1 || batch.target().scalar_type() != at::kLong) {
    findings.classes.reset();
    return;
  }
  const at::Tensor targets = batch.target().cpu().contiguous();
  const auto* values = targets.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < targets.numel(); ++i) ++(*findings.classes)[values[i]];
  if (findings.classes->size() > kMostClasses) findings.classes.reset();
}

}  // namespace

LoaderFindings inspect(data::Loader& loader, const InspectLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  LoaderFindings findings;
  findings.classes.emplace();
  findings.batches_per_epoch = loader.size();
  loader.set_epoch(0);
  const auto is_enough = [&] {
    return (limits.batches && findings.batches >= *limits.batches) ||
           (limits.seconds && findings.batches > 0 && findings.seconds >= *limits.seconds);
  };
  while (!findings.is_whole && !is_enough()) {
    const auto begin = Clock::now();
    std::optional<data::LoadedBatch> loaded = loader.next();
    findings.seconds += seconds_since(begin);  // without the time for counting classes
    if (!loaded) {
      findings.is_whole = true;
      break;
    }
    ++findings.batches;
    findings.samples += loaded->samples;
    findings.is_whole = loaded->last;
    count_classes(loaded->batch, findings);
    if (findings.batches == 1) findings.first = std::move(loaded->batch);
  }
  if (findings.classes && findings.classes->empty()) findings.classes.reset();
  return findings;
}

void print_findings(std::ostream& out, const std::string& title, const LoaderFindings& findings,
                    const std::vector<std::string>& class_names) {
  const std::optional<int64_t> samples = findings.is_whole ? findings.samples : findings.samples_per_epoch;
  const std::optional<int64_t> batches = findings.is_whole ? findings.batches : findings.batches_per_epoch;
  out << title << ": " << (samples ? sample_count(*samples) : "an unknown number of samples") << ", "
      << (batches ? batch_count(*batches) : "an unknown number of batches") << "\n";
  if (findings.batches == 0) return;
  print_first(out, findings.first);
  if (findings.classes) print_classes(out, findings, class_names);
  out << "  read " << (findings.is_whole ? "all: " : batch_count(findings.batches) + ": ")
      << number(static_cast<double>(findings.samples) / std::max(findings.seconds, 1e-9)) << " samples/s\n";
}

data::DatasetPtr dataset_of(const data::DataModule& data, data::Split split) {
  const auto* const module = dynamic_cast<const data::DatasetModule*>(&data);
  return module ? module->dataset(split) : nullptr;
}

std::vector<std::string> class_names_of(const data::DataModule& data, const data::DatasetPtr& dataset) {
  if (const auto* const tar = dynamic_cast<const data::Tar*>(&data)) return tar->class_names();
  return dataset ? dataset->class_names() : std::vector<std::string>();
}

std::string class_text(int64_t value, const std::vector<std::string>& class_names) {
  const bool has_name = value >= 0 && value < static_cast<int64_t>(class_names.size());
  return has_name ? class_names[static_cast<size_t>(value)] : std::to_string(value);
}

}  // namespace levin::cli
