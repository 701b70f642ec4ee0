#include <levin/program/commands/exported_network.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/draft_folder.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/python_of_libtorch.h>
#include <levin/modules/export/program_file.h>
#include <levin/program/cli/shell_word.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

/// Gives a file its name, after a file of data beside it.
void move_beside(const fs::path& draft, const fs::path& folder) {
  const fs::path data = draft.string() + ".data";
  if (fs::exists(data)) fs::rename(data, folder / data.filename());
  fs::rename(draft, folder / draft.filename());
}

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

at::ScalarType dtype_of(WeightDtype dtype) {
  return dtype == WeightDtype::Float32 ? at::kFloat : dtype == WeightDtype::Float16 ? at::kHalf : at::kBFloat16;
}

/// Returns the batch with its tensors of float32 in another dtype.
Batch in_dtype(const Batch& batch, at::ScalarType dtype) {
  Batch converted;
  for (const std::string& name : batch.names())
    converted.set(name, batch[name].scalar_type() == at::kFloat ? batch[name].to(dtype) : batch[name]);
  return converted;
}

/// How a network of int8 does beside the module.
class QuantizedAccuracy {
 public:
  void add(const at::Tensor& target, const at::Tensor& before, const at::Tensor& after) {
    squares_ += before.to(at::kDouble).square().sum().item<double>();
    off_ += (after.to(at::kDouble) - before.to(at::kDouble)).square().sum().item<double>();
    const bool is_classes = before.dim() == 2 && target.defined() && target.dim() == 1 &&
                            target.scalar_type() == at::kLong && target.size(0) == before.size(0);
    if (!is_classes) return;
    samples_ += target.size(0);
    right_before_ += before.argmax(1).eq(target).sum().item<int64_t>();
    right_after_ += after.argmax(1).eq(target).sum().item<int64_t>();
  }
  std::string text() const {
    std::string text =
        c10::str("results ", 100 * std::sqrt(off_ / std::max(squares_, 1e-300)), " % off (root mean square)");
    const auto share = [&](int64_t right) { return static_cast<double>(right) / static_cast<double>(samples_); };
    if (samples_ > 0)
      text += c10::str(", accuracy ", share(right_before_), " before and ", share(right_after_), " after, on ",
                       samples_, " samples");
    return text;
  }

 private:
  double squares_ = 0, off_ = 0;
  int64_t samples_ = 0, right_before_ = 0, right_after_ = 0;
};

std::vector<at::Tensor> tensors_of(const Batch& batch, const std::vector<std::string>& names) {
  std::vector<at::Tensor> tensors;
  for (const std::string& name : names) tensors.push_back(batch[name]);
  return tensors;
}

/// Quantizes a network; returns how it does in the validation.
std::string quantize(const NetworkToExport& network, ExportedNetwork& exported) {
  exported.quantize(network.calibration);
  const at::NoGradGuard no_grad;
  network.module.eval();
  QuantizedAccuracy accuracy;
  const auto visit = [&](const Batch& batch) {
    const Batch before = network.options.function(batch);
    const at::Tensor after = exported.run(tensors_of(batch, exported.input_names())).front();
    accuracy.add(batch.contains("target") ? batch["target"] : at::Tensor(), before[exported.output_names().front()],
                 after);
  };
  if (network.validate)
    network.validate(visit);
  else
    visit(network.example);
  return c10::str(", weights of int8", network.calibration.empty() ? "" : " and values between layers", ": ",
                  accuracy.text());
}

/// What the function makes of some samples.
struct Comparison {
  std::vector<at::Tensor> inputs = {}, outputs = {};
  double most = 0;  ///< that another program's results may differ
};

/// The most that results differ by rounding alone. Two programs round to whole numbers another way at a tie.
double rounding_of(const NetworkToExport& network) {
  constexpr double kOfFloats = 1e-5, kOfFewBits = 0.02;
  if (network.dtype == WeightDtype::Float32) return kOfFloats;
  return network.dtype == WeightDtype::Int8 && network.calibration.empty() ? kOfFloats : kOfFewBits;
}

std::vector<Comparison> comparisons_of(const NetworkToExport& network, const ExportedNetwork& exported) {
  const Batch& example = network.example;
  std::vector<int64_t> sizes = {example.size()};
  const bool may_change = std::ranges::any_of(network.options.dynamic, [](const DynamicSize& size) {
    return size.dim == 0 && size.factor == 1 && size.least.value_or(1) == 1 && size.most.value_or(3) >= 3;
  });
  if (may_change) sizes = {1, 3, example.size()};
  std::vector<Comparison> comparisons;
  for (const int64_t size : sizes) {
    const Batch batch = samples_of(example, size);
    Comparison one{.inputs = tensors_of(batch, exported.input_names()), .most = rounding_of(network)};
    one.outputs = network.dtype == WeightDtype::Int8
                      ? exported.run(one.inputs)
                      : tensors_of(network.options.function(batch), exported.output_names());
    comparisons.push_back(std::move(one));
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
    if (!(largest <= one.most))
      throw UsageError("levin export: ", what, " differs from the module by ", largest,
                       "; does it draw random numbers, or follow the mode by itself (is_training)?");
  }
  return largest;
}

/// Ends with 3 if onnxruntime is missing.
constexpr const char* kRunModel = R"(
import sys, torch
try:
    import onnxruntime
except ImportError:
    sys.exit(3)
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # float32 with weights of int8
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
names = [one.name for one in session.get_inputs()]
results = []
for inputs in torch.load(sys.argv[2]):
    values = session.run(None, {name: value.numpy() for name, value in zip(names, inputs, strict=True)})
    results.append([torch.from_numpy(value) for value in values if value.dtype != object])  # names of classes
torch.save(results, sys.argv[3])
)";

/// Compiles program.pt2 in the package's folder, and runs the package.
constexpr const char* kCompilePackage = R"(
import os, sys, torch
program = torch.export.load(os.path.join(os.path.dirname(sys.argv[1]), "program.pt2"))
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
model = torch._inductor.aoti_load_package(sys.argv[1])
results = []
for inputs in torch.load(sys.argv[2]):
    found = model(*inputs)
    results.append(list(found.values()) if isinstance(found, dict) else [found])
torch.save(results, sys.argv[3])
)";

/// Runs a script of Python with a file of the draft and the inputs, and compares its results. Returns the largest
/// difference; nothing if there is no Python that has what the script needs.
std::optional<double> compare_by_python(const char* script_text, const std::vector<Comparison>& comparisons,
                                        const fs::path& file, const char* what) {
  const fs::path folder = file.parent_path(), script = folder / "run.py", inputs = folder / "inputs.pt",
                 results = folder / "results.pt", errors = folder / "errors";
  const auto remove = c10::make_scope_exit([&] {
    std::error_code ignored;
    for (const fs::path& one : {script, inputs, results, errors}) fs::remove(one, ignored);
  });
  write_text_file_atomically(script, script_text);
  State batches = State::list();
  for (const Comparison& one : comparisons) {
    State tensors = State::list();
    for (const at::Tensor& tensor : one.inputs) tensors.push_back(tensor);
    batches.push_back(tensors);
  }
  save_state(batches, inputs);
  std::string command = shell_word(python_of_libtorch());
  for (const fs::path& one : {script, file, inputs, results}) command += " " + shell_word(fs::absolute(one).string());
  command += " > /dev/null 2> " + shell_word(errors.string());
  const int status = std::system(command.c_str());
  if (!fs::exists(results)) {
    constexpr int kNoModule = 3, kNoPython = 127;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (code == kNoModule || code == kNoPython) return std::nullopt;
    const std::string text(map_file_bytes(errors).text());
    throw UsageError("levin export: ", what, " failed in Python:\n",
                     text.substr(text.size() - std::min<size_t>(text.size(), 2000)));
  }
  const State loaded = load_state(results);
  size_t next = 0;
  return compare(comparisons, what, [&](const std::vector<at::Tensor>&) {
    std::vector<at::Tensor> tensors;
    for (const State& one : loaded.items().at(next).items()) tensors.push_back(one.to_tensor());
    ++next;
    return tensors;
  });
}

/// A file that was written and compared.
struct Written {
  std::string what = {};  ///< it is
  std::string how = {};   ///< it was compared
  double largest = 0;     ///< difference
};

Written write_model(const NetworkToExport& network, const ExportedNetwork& exported,
                    const std::vector<Comparison>& comparisons, const fs::path& file) {
  OnnxOptions options = network.onnx;
  const at::Tensor& scores = comparisons.front().outputs.front();
  const bool is_of_classes = scores.dim() == 2 && scores.size(1) == static_cast<int64_t>(options.class_names.size());
  if (!is_of_classes) options.class_names.clear();
  exported.save_onnx(file, options);
  const std::optional<double> of_model = compare_by_python(kRunModel, comparisons, file, "the model, by onnxruntime,");
  if (of_model) return {"an ONNX model", "run by onnxruntime and compared", *of_model};
  return {"an ONNX model", "not run, since there is no onnxruntime; its operators compared",
          compare(comparisons, "the program", [&](const auto& inputs) { return exported.run(inputs); })};
}

Written write_package(const ExportedNetwork& exported, const std::vector<Comparison>& comparisons,
                      const fs::path& file) {
  const fs::path program = file.parent_path() / "program.pt2";
  exported.save(program);
  const std::optional<double> of_package =
      compare_by_python(kCompilePackage, comparisons, file, "the package of AOTInductor");
  if (!of_package)
    throw UsageError("levin export: a package of AOTInductor is compiled by Python, and there is no ",
                     python_of_libtorch());
  fs::remove(program);
  return {"a package of AOTInductor", "run and compared", *of_package};
}

Written write_program(const NetworkToExport& network, const ExportedNetwork& exported,
                      const std::vector<Comparison>& comparisons, const fs::path& file) {
  exported.save(file);
  const program::ProgramFile written(file, network.module);
  return {network.options.inference ? "a program for inference" : "a program of training mode",
          "read back and compared",
          compare(comparisons, "the written program", [&](const auto& inputs) { return written.run(inputs); })};
}

}  // namespace

std::string write_exported_network(NetworkToExport network, const fs::path& out) {
  std::string conversion;
  if (network.dtype == WeightDtype::Float16 || network.dtype == WeightDtype::BFloat16) {
    const at::NoGradGuard no_grad;
    network.module.eval();
    const Batch before = network.options.function(network.example);
    network.module.to(dtype_of(network.dtype));
    network.example = in_dtype(network.example, dtype_of(network.dtype));
    const Batch after = network.options.function(network.example);
    double largest = 0;
    for (const std::string& name : before.names())
      largest = std::max(largest, difference(before[name], after[name].to(before[name].scalar_type())));
    conversion =
        c10::str(", ", toString(dtype_of(network.dtype)), " weights, at most ", largest, " from those of float32");
  }
  ExportedNetwork exported = export_program(network.module, network.example, network.options);
  if (network.dtype == WeightDtype::Int8) conversion = quantize(network, exported);
  const DraftFolder draft(out);
  const fs::path file = draft.path() / out.filename();
  const at::NoGradGuard no_grad;
  network.module.eval();
  const std::vector<Comparison> comparisons = comparisons_of(network, exported);
  const std::string name = out.filename().string();
  const Written written = name.ends_with(".onnx")       ? write_model(network, exported, comparisons, file)
                          : name.ends_with(kPackageEnd) ? write_package(exported, comparisons, file)
                                                        : write_program(network, exported, comparisons, file);
  move_beside(file, out.parent_path());
  return c10::str(written.what, conversion, "; ", written.how, " for ", comparisons.size() == 1 ? "" : "1, 3 and ",
                  network.example.size(), " samples: largest difference ", written.largest);
}

}  // namespace levin::cli
