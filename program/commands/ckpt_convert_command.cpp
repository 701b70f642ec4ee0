#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/trained_weights.h>
#include <levin/program/commands/ckpt_file.h>
#include <levin/program/commands/commands.h>
#include <levin/trainer/checkpoint/save_sharded_state.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace levin::cli {
namespace {

struct ConvertOptions {
  bool weights_only = LEVIN_OPTION(weights_only, false,
                                   "Of a checkpoint, keep the weights alone; a safetensors file holds nothing else");
  std::optional<std::string> dtype = LEVIN_OPTION(dtype, {}, "What floating-point weights become; unset: unchanged",
                                                  {.choices = {"fp16", "bf16", "fp32"}});
  std::string prefix = LEVIN_OPTION(prefix, "", "Keep only the weights whose names begin with it, and remove it");
  int64_t shards =
      LEVIN_OPTION(shards, 0, "Write a sharded checkpoint: OUT, and this number of parts beside it; 0: one file",
                   {.min = 0, .max = 65536});
};

enum class CkptFormat { PyTorch, Safetensors };

CkptFormat format_by_name(const std::filesystem::path& path) {
  const std::string end = path.extension().string();
  if (end == ".safetensors") return CkptFormat::Safetensors;
  for (const char* known : {".pt", ".pth", ".ckpt", ".bin"})
    if (end == known) return CkptFormat::PyTorch;
  throw UsageError(path.string(), ": the end of the name tells the format: .pt, .pth, .ckpt, .bin or .safetensors");
}

at::ScalarType dtype_of(const std::string& name) {
  if (name == "fp16") return at::kHalf;
  if (name == "bf16") return at::kBFloat16;
  return at::kFloat;
}

/// Returns the state dict with the changes that `options` ask for. Converted tensors no longer share memory.
State converted_weights(const State& weights, const ConvertOptions& options, const std::string& file) {
  State converted = State::dict();
  for (const auto& [key, value] : weights.to_dict()) {
    std::string name = to_text(key);
    if (!name.starts_with(options.prefix)) continue;
    name.erase(0, options.prefix.size());
    const bool changes = options.dtype && value.is_tensor() && value.to_tensor().is_floating_point();
    converted.to_dict().emplace_back(options.prefix.empty() ? key : State::Key(name),
                                     changes ? State(value.to_tensor().to(dtype_of(*options.dtype))) : value);
  }
  if (converted.size() == 0 && weights.size() > 0)
    throw UsageError(file, ": no name of its weights begins with ", options.prefix, "; the first is ",
                     to_text(weights.to_dict().front().first));
  return converted;
}

uint64_t tensor_bytes(const State& state, int64_t& tensors) {
  uint64_t bytes = 0;
  for (const CkptEntry& entry : entries_of(state)) {
    if (!entry.value->is_tensor()) continue;
    ++tensors;
    bytes += static_cast<uint64_t>(entry.value->to_tensor().numel()) * entry.value->to_tensor().element_size();
  }
  return bytes;
}

/// Returns the keys of a checkpoint other than those that go with its weights.
std::string other_keys(const State& state) {
  std::string text;
  for (const auto& [key, value] : state.to_dict())
    if (to_text(key) != kStateDict && to_text(key) != kLearnedFromData)
      text += (text.empty() ? "" : ", ") + to_text(key);
  return text;
}

/// Writes one file. If there was a sharded checkpoint under that name, its parts go.
void save_whole(const State& state, const State& learned, const std::filesystem::path& to) {
  save_trained_weights(state, learned, to);
  remove_parts(to);
}

/// Converts `in` to `to`, each a PyTorch or a safetensors file; the extension of `to` decides its format. A sharded
/// checkpoint becomes one file, and any file a sharded one with the option `shards`. Prints a
/// summary to `out`, to stand behind the name of the file. Throws levin::UsageError for an unknown extension, and for
/// options that do not fit the file.
void ckpt_convert(std::ostream& out, const std::filesystem::path& in, const std::filesystem::path& to,
                  const ConvertOptions& options) {
  const CkptFormat format = format_by_name(to);
  if (options.shards > 0 && format != CkptFormat::PyTorch)
    throw UsageError(to.string(), ": a safetensors file has no parts; leave --shards out, or name it .ckpt");
  const CkptFile file = read_ckpt_file(in, /*verify_checksums=*/true);
  if (!file.state.is_dict()) throw UsageError(in.string(), ": a dict was expected, this is a ", file.state.kind());
  const State* weights = find_state_dict(file.state);
  const bool changes_weights = options.dtype || !options.prefix.empty();
  const bool strips = weights && (options.weights_only || format == CkptFormat::Safetensors);
  if (weights && !strips && changes_weights)
    throw UsageError(in.string(),
                     ": a checkpoint, whose other parts go with its weights as they are; add --weights-only");
  const State& kept = strips ? *weights : file.state;
  const State result = changes_weights ? converted_weights(kept, options, in.string()) : kept;
  // A whole checkpoint has it under its key.
  const State learned = weights && !strips ? State() : learned_from_data_in(file.path);
  if (options.shards > 0)
    save_sharded_state(result, to, options.shards);
  else if (format == CkptFormat::PyTorch)
    save_whole(result, learned, to);
  else if (file.is_safetensors)
    save_safetensors(result, to, file.metadata);
  else
    save_trained_weights(result, learned, to);
  int64_t tensors = 0;
  const uint64_t bytes = tensor_bytes(result, tensors);
  out << ": " << tensors << (tensors == 1 ? " tensor, " : " tensors, ") << size_text(bytes);
  if (options.shards > 0) out << ", in " << options.shards << (options.shards == 1 ? " part" : " parts");
  out << "\n";
  const std::string left_out = strips ? other_keys(file.state) : "";
  if (!left_out.empty()) out << "left out: " << left_out << "\n";
}

int run_ckpt_convert(const ConvertOptions& options, const Words& words) {
  const OutputPlace place("OUT", words[1]);
  std::ostringstream told;
  ckpt_convert(told, words[0], place.path(), options);
  place.finish();
  std::cout << words[1] << told.str();
  return 0;
}

}  // namespace

Command ckpt_convert_command() {
  return make_command({.name = "ckpt convert",
                       .summary = "Write a checkpoint in another format or dtype, or its weights alone",
                       .usage = "IN OUT",
                       .about = "The name of OUT says the format: .safetensors, or .pt, .pth, .ckpt, .bin for PyTorch.",
                       .least = 2,
                       .most = 2},
                      run_ckpt_convert);
}

}  // namespace levin::cli
