#pragma once
#include <levin/modules/export/onnx/model.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>

#include <map>
#include <string>
#include <vector>

namespace levin::onnx {

/// What a program's model is called and holds besides its operators.
struct ModelText {
  std::string name = {};
  std::vector<std::string> inputs = {}, outputs = {};  ///< names, in order
  std::map<std::string, std::string> sizes = {};       ///< what symbols are called: {"s0", "batch"}
  std::vector<std::pair<std::string, std::string>> metadata = {};
  std::vector<std::string> class_names = {};  ///< if there are any, the model gives the name of the largest entry, too
};

/// Returns the model of a program that was recorded in evaluation. Throws levin::UsageError, which names the operator
/// and its layer, for what ONNX lacks or levin does not write.
Model model_of(const program::ExportedProgram& program, const program::ProgramTensors& tensors, const ModelText& text);

}  // namespace levin::onnx
