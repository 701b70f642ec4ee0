#include <levin/program/commands/exported_network.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/python_of_libtorch.h>
#include <levin/modules/program_module.h>
#include <levin/program/cli/shell_word.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

/// A folder beside a file, in which it is written and checked before it gets its name.
class NetworkDraft {
 public:
  explicit NetworkDraft(const fs::path& out)
      : folder_(out.parent_path() / ("." + out.filename().string() + "." + std::to_string(::getpid()) + ".draft")),
        file_(folder_ / out.filename()) {
    std::error_code error;
    fs::create_directory(folder_, error);
    if (error) throw UsageError(out.string(), ": cannot be written: ", error.message());
  }
  ~NetworkDraft() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  NetworkDraft(const NetworkDraft&) = delete;
  NetworkDraft& operator=(const NetworkDraft&) = delete;

  const fs::path& file() const { return file_; }
  /// Gives the file its name, after a file of data beside it.
  void move() const {
    const fs::path data = file_.string() + ".data", beside = folder_.parent_path();
    if (fs::exists(data)) fs::rename(data, beside / data.filename());
    fs::rename(file_, beside / file_.filename());
  }

 private:
  fs::path folder_, file_;
};

Batch samples_of(const Batch& batch, int64_t size) {
  Batch samples;
  for (const std::string& name : batch.names()) {
    const at::Tensor& tensor = batch[name];
    samples.set(name,
                tensor.dim() == 0 ? tensor : tensor.index_select(0, at::remainder(at::arange(size), tensor.size(0))));
  }
  return samples;
}

/// Returns the largest difference of two results, relative where they are above 1; infinite for other shapes.
double difference(const at::Tensor& one, const at::Tensor& other) {
  if (one.sizes() != other.sizes() || one.scalar_type() != other.scalar_type()) return INFINITY;
  if (one.numel() == 0 || one.equal(other)) return 0;
  const at::Tensor a = one.to(at::kDouble), b = other.to(at::kDouble);
  const at::Tensor off = ((a - b).abs() / a.abs().clamp_min(1)).masked_fill(a.isnan().logical_and(b.isnan()), 0);
  const double largest = off.max().item<double>();
  return std::isnan(largest) ? INFINITY : largest;
}

/// What the function makes of some samples.
struct Comparison {
  int64_t samples = 0;
  std::vector<at::Tensor> inputs = {}, outputs = {};
};

std::vector<Comparison> comparisons_of(const NetworkToExport& network, const ExportedNetwork& exported) {
  const Batch& example = network.example;
  std::vector<int64_t> sizes = {example.size()};
  const bool may_change = std::ranges::any_of(network.options.dynamic, [](const DynamicSize& size) {
    return size.dim == 0 && size.factor == 1 && size.least.value_or(1) == 1 && size.most.value_or(3) >= 3;
  });
  if (may_change) sizes = {1, 3, example.size()};
  const auto tensors_of = [](const Batch& batch, const std::vector<std::string>& names) {
    std::vector<at::Tensor> tensors;
    for (const std::string& name : names) tensors.push_back(batch[name]);
    return tensors;
  };
  std::vector<Comparison> comparisons;
  for (const int64_t size : sizes) {
    const Batch batch = samples_of(example, size);
    comparisons.push_back({size, tensors_of(batch, exported.input_names()),
                           tensors_of(network.options.function(batch), exported.output_names())});
  }
  return comparisons;
}

using RunNetwork = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

/// Returns the largest difference. Throws if it is more than rounding.
double compare(const std::vector<Comparison>& comparisons, const char* what, const RunNetwork& run) {
  double largest = 0;
  for (const Comparison& one : comparisons) {
    const std::vector<at::Tensor> got = run(one.inputs);
    for (size_t i = 0; i < one.outputs.size(); ++i) largest = std::max(largest, difference(one.outputs[i], got.at(i)));
  }
  constexpr double kMost = 1e-5;
  if (!(largest <= kMost))
    throw UsageError("levin export: ", what, " differs from the module by ", largest,
                     "; does it draw random numbers, or follow the mode by itself (is_training)?");
  return largest;
}

constexpr const char* kRunModel = R"(
import sys, torch
try:
    import onnxruntime
except ImportError:
    sys.exit(3)
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
names = [one.name for one in session.get_inputs()]
results = []
for inputs in torch.load(sys.argv[2]):
    values = session.run(None, {name: value.numpy() for name, value in zip(names, inputs, strict=True)})
    results.append([torch.from_numpy(value) for value in values])
torch.save(results, sys.argv[3])
)";

/// Runs the model by onnxruntime; returns the largest difference, or nothing where there is no onnxruntime.
std::optional<double> compare_model(const std::vector<Comparison>& comparisons, const fs::path& model) {
  const fs::path folder = model.parent_path(), script = folder / "run.py", inputs = folder / "inputs.pt",
                 results = folder / "results.pt", errors = folder / "errors";
  const auto remove = c10::make_scope_exit([&] {
    std::error_code ignored;
    for (const fs::path& file : {script, inputs, results, errors}) fs::remove(file, ignored);
  });
  write_text_file_atomically(script, kRunModel);
  State batches = State::list();
  for (const Comparison& one : comparisons) {
    State tensors = State::list();
    for (const at::Tensor& tensor : one.inputs) tensors.push_back(tensor);
    batches.push_back(tensors);
  }
  save_state(batches, inputs);
  std::string command = shell_word(python_of_libtorch());
  for (const fs::path& file : {script, model, inputs, results}) command += " " + shell_word(file.string());
  command += " > /dev/null 2> " + shell_word(errors.string());
  const int status = std::system(command.c_str());
  if (!fs::exists(results)) {
    constexpr int kNoRuntime = 3;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == kNoRuntime || WEXITSTATUS(status) == 127)) return std::nullopt;
    const FileBytes text = map_file_bytes(errors);
    throw UsageError("levin export: onnxruntime does not run the model: ", text.text());
  }
  const State loaded = load_state(results);
  size_t next = 0;
  return compare(comparisons, "the model, by onnxruntime,", [&](const std::vector<at::Tensor>&) {
    std::vector<at::Tensor> tensors;
    for (const State& one : loaded.items().at(next).items()) tensors.push_back(one.to_tensor());
    ++next;
    return tensors;
  });
}

}  // namespace

std::string write_exported_network(const NetworkToExport& network, const fs::path& out) {
  const bool is_model = out.extension() == ".onnx";
  const ExportedNetwork exported = export_program(network.module, network.example, network.options);
  const NetworkDraft draft(out);
  if (is_model)
    exported.save_onnx(draft.file(), network.metadata);
  else
    exported.save(draft.file());

  const at::NoGradGuard no_grad;
  network.module.eval();
  const std::vector<Comparison> comparisons = comparisons_of(network, exported);
  double largest = 0;
  std::string by = "read back and compared";
  if (is_model) {
    const std::optional<double> of_model = compare_model(comparisons, draft.file());
    by =
        of_model ? "run by onnxruntime and compared" : "not run, since there is no onnxruntime; its operators compared";
    largest = of_model ? *of_model
                       : compare(comparisons, "the program", [&](const auto& inputs) { return exported.run(inputs); });
  } else if (network.module.parameters().empty()) {  // no ProgramModule
    largest = compare(comparisons, "the program", [&](const auto& inputs) { return exported.run(inputs); });
  } else {
    ProgramModule read({.program = draft.file().string()});
    read.eval();
    largest = compare(comparisons, "the written program", [&](const auto& inputs) { return read.run_program(inputs); });
  }
  draft.move();
  return c10::str(is_model                    ? "an ONNX model"
                  : network.options.inference ? "a program for inference"
                                              : "a program of training mode",
                  "; ", by, " for ", comparisons.size() == 1 ? "" : "1, 3 and ", network.example.size(),
                  " samples: largest difference ", largest);
}

}  // namespace levin::cli
