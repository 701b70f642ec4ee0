#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>

#include <map>
#include <string>
#include <string_view>

namespace levin::program {

// The version of torch.export's schema, and the names of an archive's records.
inline constexpr int64_t kSchemaMajor = 8, kSchemaMinor = 20;
inline constexpr const char *kModelRecord = "models/model.json", *kWeightsFolder = "data/weights/",
                            *kConstantsFolder = "data/constants/";

/// Where an archive keeps one tensor.
struct StoredTensor {
  std::string record;  ///< file name within the folder
  bool is_parameter = false;
  TensorMeta meta = {};
};

/// Returns what a program says of a tensor whose sizes are fixed.
TensorMeta meta_of(const at::Tensor& tensor, bool requires_grad = false);

/// Parses models/model.json. `file` is for messages. Throws levin::UsageError for text that is no program, a schema of
/// another major version, a program that was decomposed for inference, and what levin cannot run: higher-order
/// operators, custom objects, tokens, mutated inputs.
ExportedProgram parse_program(std::string_view json, const std::string& file);

/// Parses model_weights_config.json or model_constants_config.json: tensors by name.
std::map<std::string, StoredTensor> parse_stored_tensors(std::string_view json, const std::string& file);

}  // namespace levin::program
