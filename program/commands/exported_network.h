#pragma once
#include <levin/core/options/choice.h>
#include <levin/data/batch.h>
#include <levin/modules/export/export_program.h>
#include <levin/modules/lightning_module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace levin::cli {

/// The dtype of a file's weights, and of the inputs and outputs that have the weights' dtype; with int8 these stay in
/// float32.
enum class WeightDtype : uint8_t { Float32, Float16, BFloat16, Int8 };

}  // namespace levin::cli

template <>
inline constexpr auto levin::kWords<levin::cli::WeightDtype> =
    levin::words_of<levin::cli::WeightDtype>({{"float32", levin::cli::WeightDtype::Float32},
                                              {"float16", levin::cli::WeightDtype::Float16},
                                              {"bfloat16", levin::cli::WeightDtype::BFloat16},
                                              {"int8", levin::cli::WeightDtype::Int8}});

namespace levin::cli {

struct NetworkToExport {
  LightningModule& module;
  Batch example;
  ExportOptions options;  ///< with a function
  WeightDtype dtype = WeightDtype::Float32;
  OnnxOptions onnx = {};
  std::vector<Batch> calibration = {};  ///< for int8
  /// Calls `visit` with each batch of a validation, by which networks of int8 are compared; may be unset.
  std::function<void(const std::function<void(const Batch&)>& visit)> validate = {};
};

/// How the names of AOTInductor's packages end.
inline constexpr const char* kPackageEnd = ".aoti.pt2";

/// Writes a network as .pt2, as .onnx, or as .aoti.pt2 (which Python compiles), the latter two of evaluation. Reads the
/// file back (a .pt2 by its operators on the module's weights, a model by onnxruntime if LibTorch's Python has it), and
/// compares it with the function in evaluation: for the example, and for 1 and 3 of its samples where their number may
/// change. Returns what was written and compared, for people. With 16 bits the module has that dtype afterwards, and
/// the text says how far its results are from those of float32; with int8 it says how both do in the validation.
///
/// Throws levin::UsageError if results differ by more than rounding; then nothing is at `out`.
std::string write_exported_network(NetworkToExport network, const std::filesystem::path& out);

}  // namespace levin::cli
