#include <levin/core/system/json_text.h>
#include <levin/program/commands/ckpt_file.h>
#include <levin/program/commands/commands.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct TensorTotal {
  int64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;

  void add(const at::Tensor& tensor) {
    ++tensors;
    elements += tensor.numel();
    bytes += bytes_of(tensor);
  }
  static uint64_t bytes_of(const at::Tensor& tensor) {
    return static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
  }
};

const char* format_of(const CkptFile& file) { return file.is_safetensors ? "safetensors" : "PyTorch"; }

void print_json(std::ostream& out, const std::filesystem::path& path, const CkptFile& file) {
  OrderedJson values = OrderedJson::object(), tensors = OrderedJson::array();
  TensorTotal total;
  for (const CkptEntry& entry : entries_of(file.state)) {
    if (!entry.value->is_tensor()) {
      values[entry.path] = value_json(*entry.value);
      continue;
    }
    const at::Tensor& tensor = entry.value->to_tensor();
    total.add(tensor);
    tensors.push_back({{"path", entry.path},
                       {"dtype", dtype_text(tensor)},
                       {"shape", tensor.sizes().vec()},
                       {"bytes", TensorTotal::bytes_of(tensor)}});
  }
  OrderedJson json = {{"file", path.string()},
                      {"format", format_of(file)},
                      {"bytes", file.bytes},
                      {"total", {{"tensors", total.tensors}, {"elements", total.elements}, {"bytes", total.bytes}}}};
  if (file.is_safetensors) json["metadata"] = file.metadata;
  for (const std::filesystem::path& part : file.parts) json["parts"].push_back(part.filename().string());
  json["values"] = std::move(values);
  json["tensors"] = std::move(tensors);
  out << json_text(json, 2) << "\n";
}

/// Prints the contents of a checkpoint or a file of weights: tensors with shape, dtype and size, and the other values.
/// With `json`, prints one JSON object. Does not read tensor values.
void ckpt_ls(std::ostream& out, const std::filesystem::path& path, bool json) {
  const CkptFile file = read_ckpt_file(path, /*verify_checksums=*/false, tensor_without_memory);
  if (json) return print_json(out, path, file);
  constexpr size_t kWidest = 60;
  const std::vector<CkptEntry> entries = entries_of(file.state);
  size_t path_width = 0, text_width = 0;
  for (const CkptEntry& entry : entries) {
    path_width = std::max(path_width, std::min(entry.path.size(), kWidest));
    if (entry.value->is_tensor()) text_width = std::max(text_width, value_text(*entry.value).size());
  }
  const auto padded = [](std::string text, size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  out << path.string() << ": " << format_of(file) << ", " << size_text(file.bytes);
  if (!file.parts.empty()) out << ", with " << file.parts.size() << (file.parts.size() == 1 ? " part" : " parts");
  out << "\n";
  for (const auto& [key, text] : file.metadata) out << "  metadata " << key << "  " << text << "\n";
  TensorTotal total;
  for (const CkptEntry& entry : entries) {
    out << "  " << padded(entry.path, path_width) << "  ";
    if (entry.value->is_tensor()) {
      total.add(entry.value->to_tensor());
      out << padded(value_text(*entry.value), text_width) << "  "
          << size_text(TensorTotal::bytes_of(entry.value->to_tensor())) << "\n";
    } else {
      out << value_text(*entry.value) << "\n";
    }
  }
  out << total.tensors << (total.tensors == 1 ? " tensor, " : " tensors, ") << total.elements
      << (total.elements == 1 ? " element, " : " elements, ") << size_text(total.bytes) << "\n";
}

struct CkptLsFlags {
  bool json = LEVIN_OPTION(json, false, "Print one JSON object");
};

int run_ckpt_ls(const CkptLsFlags& flags, const Words& words) {
  ckpt_ls(std::cout, words[0], flags.json);
  return 0;
}

}  // namespace

Command ckpt_ls_command() {
  return make_command(
      {.name = "ckpt ls",
       .summary = "Show what a checkpoint or a file of weights holds",
       .usage = "FILE",
       .about = "Prints tensors with shape, dtype and size, and all other values, of files of levin, PyTorch "
                "Lightning, torch.save and safetensors.",
       .least = 1,
       .most = 1},
      run_ckpt_ls);
}

}  // namespace levin::cli
