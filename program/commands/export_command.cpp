#include <ATen/Context.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/json_state.h>
#include <levin/core/system/error.h>
#include <levin/data/data_module.h>
#include <levin/data/learned_state.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/adapters/peft_folder.h>
#include <levin/modules/program_module.h>
#include <levin/modules/script_file.h>
#include <levin/modules/script_module.h>
#include <levin/modules/trained_weights.h>
#include <levin/modules/transformers/saves_pretrained.h>
#include <levin/modules/weights.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/example_batches.h>
#include <levin/program/commands/exported_network.h>
#include <levin/program/commands/run_module.h>
#include <levin/program/commands/traced_script.h>
#include <levin/program/commands/trained_module.h>

#include <iostream>
#include <map>
#include <sstream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

struct ExportFlags {
  std::string out = LEVIN_OPTION(
      out, "",
      ".pt, .pth, .bin: the weights, for torch.load; .safetensors: the same in that format; .ts, .torchscript: "
      "predict_step as TorchScript, for torch.jit.load in Python and C++; .pt2: predict_step as a program, for "
      "torch.export.load and ProgramModule; .aoti.pt2: the same compiled by AOTInductor, for this kind of "
      "machine; .onnx: an ONNX model of opset 18; a name without an end: a folder for transformers, of a CausalLM, "
      "SequenceClassifier or the like, with adapters in its weights; s3:// and gs:// too");
  bool adapter = LEVIN_OPTION(adapter, false, "Write a folder of the adapters alone, in PEFT's format");
  std::string example = LEVIN_OPTION(example, "",
                                     "For .ts, .pt2 and .onnx: the sizes of one sample, 3,224,224 or int64:128, or of "
                                     "an image that --preprocess resizes; unset: the data say what a sample is");
  std::vector<std::string> dynamic = LEVIN_OPTION(dynamic, {},
                                                  "For .pt2 and .onnx: sizes of inputs that may change, "
                                                  "input:0=batch[1:1024] or input:2=16*height; none: all are fixed; "
                                                  "unset: the number of samples");
  std::string function =
      LEVIN_OPTION(function, "", "For .pt2 and .onnx: what is exported, if not predict_step, such as forward");
  bool preprocess = LEVIN_OPTION(
      preprocess, false,
      "For .pt2 and .onnx: take samples as the files of the data hold them, and make batches of them in the program");
  Choice<WeightDtype> dtype =
      LEVIN_OPTION(dtype, WeightDtype::Float32, "For .pt2 and .onnx: the weights' dtype; int8 for .onnx alone");
  std::optional<int64_t> calibrate = LEVIN_OPTION(calibrate, {},
                                                  "With --dtype int8: batches of the validation data to find the "
                                                  "ranges of values by; unset: weights alone are int8",
                                                  {.min = 1});
  bool inference = LEVIN_OPTION(
      inference, false, "For .pt2: record evaluation alone; else the program is one of training mode, to train it on");
};

enum class Format { Weights, Script, Network, Folder };

Format format_of(const fs::path& out) {
  const std::string end = out.extension().string();
  for (const char* known : {".pt", ".pth", ".bin", ".safetensors"})
    if (end == known) return Format::Weights;
  if (end == ".ts" || end == ".torchscript") return Format::Script;
  if (end == ".pt2" || end == ".onnx") return Format::Network;
  if (end.empty()) return Format::Folder;
  throw UsageError(
      "--out: the end of the name tells the format: .pt, .pth, .bin, .safetensors, .ts, .torchscript, .pt2 or "
      ".onnx, or none for a folder, got ",
      out.string());
}

/// Returns what a script takes: raw samples if the data say how these become a batch, or else batches.
data::RawInput script_input(data::DataModule* data, const std::string& example) {
  std::optional<data::RawInput> raw = data != nullptr ? data->raw_input() : std::nullopt;
  if (!raw) {
    raw.emplace();
    raw->prepare = [](const Batch& batch) { return batch; };
    raw->example = example_batch(data, example);
  } else if (!example.empty()) {
    raw->example = raw_example(raw->example, example);
  }
  return std::move(*raw);
}

void export_script(LightningModule& module, data::DataModule* data, const State& learned, const std::string& example,
                   const fs::path& out, std::ostream& told) {
  if (auto* const script = dynamic_cast<ScriptModule*>(&module)) {
    script->eval();
    script->save_script(out);
    told << ": the model's TorchScript";
    return;
  }
  const data::RawInput input = script_input(data, example);
  const TracedScript traced = trace_predict_step(module, input.example, input.prepare);
  std::map<std::string, std::string> files;
  if (!learned.is_none()) files[std::string(kLearnedFromData) + ".json"] = json_of_state(learned);
  save_script(traced.script, out, files);
  told << ": TorchScript of predict_step, for batches of ";
  if (traced.why_fixed.empty())
    told << "any size";
  else
    told << input.example.size() << " samples alone (with another size: " << traced.why_fixed << ")";
  if (!input.meaning.empty()) told << "; takes " << input.meaning;
}

ExportOptions export_options(const ExportFlags& flags) {
  ExportOptions options{.inference = flags.inference};
  if (flags.dynamic.empty()) return options;
  options.dynamic.clear();
  if (flags.dynamic == std::vector<std::string>{"none"}) return options;
  for (const std::string& text : flags.dynamic) {
    try {
      options.dynamic.push_back(parse_dynamic_size(text));
    } catch (const UsageError& error) {
      throw UsageError("--dynamic: ", error.what());
    }
  }
  return options;
}

/// Returns a function of a module by its name; predict_step if there is none.
BatchFunction function_of(LightningModule& module, const std::string& name) {
  if (name.empty() || name == "predict_step")
    return [&module](const Batch& batch) { return module.predict_step(batch, 0); };
  const std::map<std::string, BatchFunction> functions = module.export_functions();
  if (const auto found = functions.find(name); found != functions.end()) return found->second;
  std::string names = "predict_step";
  for (const auto& [known, function] : functions) names += ", " + known;
  throw UsageError("--function: the module gives no function '", name, "' to export; it has ", names,
                   " (its class names others in export_functions)");
}

/// Returns the names of classes that the data have; none if they have none, or no training files that would say them.
std::vector<std::string> class_names_of(data::DataModule& data) {
  State learned;
  try {
    learned = data.learned_state();
  } catch (const UsageError&) {
    return {};
  }
  const State* const found = learned.is_dict() ? learned.find("class_names") : nullptr;
  std::vector<std::string> names;
  if (found != nullptr && found->is_list())
    for (const State& name : found->items()) names.push_back(name.to_string());
  return names;
}

/// Describes a network's data in an ONNX model.
OnnxOptions onnx_options(const State& learned, const std::string& meaning) {
  OnnxOptions options;
  if (!learned.is_none()) options.metadata.emplace_back(kLearnedFromData, json_of_state(learned));
  if (!meaning.empty()) options.metadata.emplace_back("input", meaning);
  return options;
}

/// Throws for flags of numbers of 8 bits that do not go together.
void check_int8(const ExportFlags& flags, bool has_data, const std::string& file) {
  if (flags.dtype != WeightDtype::Int8) {
    if (flags.calibrate) throw UsageError("--calibrate: only --dtype int8 has values to calibrate");
    return;
  }
  if (!file.ends_with(".onnx")) throw UsageError("--dtype int8: only .onnx has it; take float16 or bfloat16");
  if (!flags.calibrate) return;
  if (!has_data) throw UsageError("--calibrate: a config with data is needed; without it weights alone become int8");
  if (flags.preprocess)
    throw UsageError("--calibrate: batches of the data are prepared already; leave out --preprocess, or --calibrate");
}

void export_network(LightningModule& module, data::DataModule* data, const State& learned, const ExportFlags& flags,
                    const fs::path& out, std::ostream& told) {
  auto* const program = dynamic_cast<ProgramModule*>(&module);
  const std::string name = out.filename().string();
  const bool is_for_use = name.ends_with(".onnx") || name.ends_with(kPackageEnd);
  if (program != nullptr && !is_for_use && !flags.inference) {
    program->save_program(out);
    told << ": the model's program";
    return;
  }
  data::RawInput input;
  if (flags.preprocess) {
    input = script_input(data, flags.example);
  } else {
    input.example = example_batch(data, flags.example);
    input.prepare = [](const Batch& batch) { return batch; };
  }
  check_int8(flags, data != nullptr, name);
  if (name.ends_with(".onnx") && flags.dtype == WeightDtype::BFloat16)
    throw UsageError("--dtype: bfloat16 has no kernels in onnxruntime; take float16");
  NetworkToExport network{module, input.example, export_options(flags), flags.dtype,
                          onnx_options(learned, input.meaning)};
  if (flags.preprocess && flags.function.empty() && data != nullptr) network.onnx.class_names = class_names_of(*data);
  if (flags.calibrate) network.calibration = batches_to_calibrate_by(*data, *flags.calibrate);
  if (data != nullptr && !flags.preprocess)
    network.validate = [&](const std::function<void(const Batch&)>& visit) { visit_validation_batches(*data, visit); };
  const BatchFunction function = function_of(module, flags.function);
  network.options.function = [&](const Batch& batch) { return function(input.prepare(batch)); };
  if (is_for_use) network.options.inference = true;
  const std::string written = write_exported_network(network, out);
  told << ": " << (flags.function.empty() ? "predict_step" : flags.function) << " as " << written;
  if (!input.meaning.empty()) told << "; takes " << input.meaning;
}

void export_folder(LightningModule& module, data::DataModule* data, bool adapter, const fs::path& out,
                   std::ostream& told) {
  if (adapter) {
    save_adapter(module, out);
    told << ": the adapters of " << adapted_layers(module).size() << " layers, for PEFT";
    return;
  }
  auto* const model = dynamic_cast<nn::SavesPretrained*>(&module);
  if (model == nullptr)
    throw UsageError(
        "--out: a folder is written of a module from one, such as CausalLM or SequenceClassifier; for "
        "another module the name ends in .pt, .pt2, ...");
  if (data != nullptr) model->name_classes(class_names_of(*data));
  model->save_pretrained(out);
  told << ": a model for transformers";
}

int run_export(const ExportFlags& flags, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", words);
  const ReadOptions options = read_run_options(line.config);
  require_model(options);
  if (flags.out.empty())
    throw UsageError("--out: missing; name the file to write, such as model.safetensors or model.ts");
  const Format format = format_of(flags.out);
  if (flags.adapter && format != Format::Folder) throw UsageError("--adapter: --out names a folder");
  if (!flags.example.empty() && (format == Format::Weights || format == Format::Folder))
    throw UsageError("--example: only .ts, .pt2 and .onnx need one");
  for (const auto& [flag, is_given] :
       {std::pair("--dynamic", !flags.dynamic.empty()), std::pair("--inference", flags.inference),
        std::pair("--preprocess", flags.preprocess), std::pair("--function", !flags.function.empty()),
        std::pair("--dtype", flags.dtype != WeightDtype::Float32),
        std::pair("--calibrate", flags.calibrate.has_value())})
    if (is_given && format != Format::Network) throw UsageError(flag, ": only .pt2 and .onnx have it");
  const OutputPlace place("--out", flags.out);
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  const TrainedWeights trained = find_trained_weights(options, line.flags.ckpt_path);
  const TrainedModule ready(*module, data.get(), trained, line.flags.ckpt_path);
  const bool is_recorded = format == Format::Script || format == Format::Network;
  const bool merges = is_recorded && !adapted_layers(*module).empty();
  if (merges) merge_adapters(*module);  // a recording has the weights' operations alone
  std::ostringstream told;
  const fs::path out = followed(place.path());
  if (format == Format::Weights) {
    save_trained_weights(*module, trained.learned_from_data, out);
    told << ": weights";
  } else if (format == Format::Folder) {
    export_folder(*module, data.get(), flags.adapter, out, told);
  } else if (format == Format::Script) {
    export_script(*module, data.get(), trained.learned_from_data, flags.example, out, told);
  } else {
    export_network(*module, data.get(), trained.learned_from_data, flags, out, told);
  }
  if (merges) told << "; adapters are in its weights";
  place.finish();
  const std::string from = line.flags.ckpt_path.empty() ? "" : trained.file;
  std::cout << (place.is_in_bucket() ? flags.out : out.string()) << told.str() << "; "
            << (from.empty() ? "the model's initial weights" : "the weights of " + from) << std::endl;
  return 0;
}

}  // namespace

Command export_command() {
  return make_command(
      {.name = "export",
       .summary = "Write a trained module for use elsewhere: TorchScript, weights, or a program",
       .usage = "--out FILE",
       .about =
           R"(--ckpt-path names a checkpoint or a file of weights; a run's folder, last and best as for predict. Without it
the model's initial weights (model.weights) are written.

A .ts takes samples as the files of the data hold them: numbers of a table that are not standardized, images of bytes.
What was learned of the training data is in the script, and as JSON in its file levin_data.json.)",
       .rest = Rest::FitFlags,
       .values = {{"out", "FILE"}, {"example", "SIZES"}, {"dynamic", "SIZES"}}},
      run_export);
}

}  // namespace levin::cli
