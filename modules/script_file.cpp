#include <levin/modules/script_file.h>
#include <c10/core/GradMode.h>
#include <caffe2/serialize/inline_container.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/system/error.h>
#include <torch/csrc/jit/frontend/error_report.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include <fstream>
#include <string_view>
#include <system_error>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstead =
    "; save the model itself in Python by torch.jit.script(model).save(path), or load these weights into one by its "
    "option weights";

bool begins_as_zip(const fs::path& path) {
  char magic[4] = {};
  return std::ifstream(path, std::ios::binary).read(magic, 4) && std::string_view(magic, 4) == "PK\x03\x04";
}

void check_script_file(const fs::path& path) {
  const std::string name = path.string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw UsageError(name, ": there is no such file");
  if (!fs::is_regular_file(path, ignored)) throw UsageError(name, ": a file was expected, this is none");
  if (is_safetensors_file(path))
    throw UsageError(name, ": holds weights alone (safetensors), no TorchScript", kInstead);
  if (!begins_as_zip(path))
    throw UsageError(name, ": not a TorchScript file; one written by Python's torch.jit.save was expected");
  caffe2::serialize::PyTorchStreamReader reader(name);
  if (reader.hasRecord("constants.pkl")) return;
  if (reader.hasRecord("data.pkl"))
    throw UsageError(name, ": holds what torch.save wrote (a state dict or a checkpoint), no TorchScript", kInstead);
  if (reader.hasRecord("archive_format"))
    throw UsageError(name,
                     ": written by torch.export; train it as ProgramModule, by --model.class ProgramModule "
                     "--model.program");
  throw UsageError(name, ": not a TorchScript file, it has no constants.pkl");
}

/// Copying tensors without a graph drops requires_grad; this restores it on the copy.
torch::jit::Module copied_to_cpu(const torch::jit::Module& script) {
  const c10::NoGradGuard no_grad;
  torch::jit::Module copy = script.deepcopy(at::kCPU);
  std::vector<bool> requires_grad;
  for (const at::Tensor& parameter : script.parameters()) requires_grad.push_back(parameter.requires_grad());
  size_t i = 0;
  for (at::Tensor parameter : copy.parameters()) parameter.set_requires_grad(requires_grad.at(i++));
  return copy;
}

}  // namespace

torch::jit::Module load_script(const fs::path& path) try {
  check_script_file(path);
  torch::jit::Module script = torch::jit::load(path.string(), at::Device(at::kCPU));
  if (!script.find_method("forward"))
    throw UsageError(path.string(),
                     ": its module has no forward method; C++'s torch::save writes such files, and "
                     "load_weights does not read them: save by levin::save_weights instead");
  return script;
} catch (const c10::Error& error) {
  throw UsageError(path.string(), ": damaged, or no TorchScript file: ", error.what_without_backtrace());
} catch (const torch::jit::ErrorReport& error) {
  throw UsageError(path.string(), ": its TorchScript cannot be read by this LibTorch: ", error.what());
}

void save_script(const torch::jit::Module& script, const fs::path& path,
                 const std::map<std::string, std::string>& files) {
  const torch::jit::ExtraFilesMap extra(files.begin(), files.end());
  bool is_elsewhere = false;
  for (const c10::IValue& value : script.attributes())
    is_elsewhere = is_elsewhere || (value.isTensor() && value.toTensor().defined() && !value.toTensor().is_cpu());
  AtomicFile file(path);
  try {
    const auto write = [&](const void* data, size_t bytes) {
      file.write(data, bytes);
      return bytes;
    };
    torch::jit::ExportModule(is_elsewhere ? copied_to_cpu(script) : script, write, extra);
  } catch (const c10::Error& error) {
    throw Error(path.string(), ": writing failed: ", error.what_without_backtrace());
  }
  file.commit();
}

}  // namespace levin
