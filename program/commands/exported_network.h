#pragma once
#include <levin/data/batch.h>
#include <levin/modules/export/export_program.h>
#include <levin/modules/lightning_module.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace levin::cli {

struct NetworkToExport {
  LightningModule& module;
  Batch example;
  ExportOptions options;                                           ///< with a function
  std::vector<std::pair<std::string, std::string>> metadata = {};  ///< of an ONNX model
};

/// How the names of AOTInductor's packages end.
inline constexpr const char* kPackageEnd = ".aoti.pt2";

/// Writes a network as .pt2, as .onnx, or as .aoti.pt2 (which Python compiles), the latter two of evaluation, reads the
/// file back (a .pt2 by its operators on the module's
/// weights, a model by onnxruntime if LibTorch's Python has it), and compares it with the function in evaluation: for
/// the example, and for 1 and 3 of its samples where their number may change. Returns what was written and compared,
/// for people. Throws levin::UsageError if results differ by more than rounding; then nothing is at `out`.
std::string write_exported_network(const NetworkToExport& network, const std::filesystem::path& out);

}  // namespace levin::cli
