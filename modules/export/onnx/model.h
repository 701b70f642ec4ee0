#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace levin::onnx {

/// The version of ONNX's operators that levin writes.
inline constexpr int64_t kOpset = 18;

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<std::string>>;

struct Node {
  std::string op = {};
  std::vector<std::string> inputs = {}, outputs = {};  ///< names of values; "" for an input that is left out
  std::map<std::string, Attribute> attributes = {};
};

/// An input or output of the graph: a size is a number, or the name of one that may change.
struct ValueInfo {
  using Size = std::variant<int64_t, std::string>;
  std::string name = {};
  std::optional<at::ScalarType> dtype = at::kFloat;  ///< unset: strings
  std::vector<Size> sizes = {};
};

struct Model {
  std::vector<ValueInfo> inputs = {}, outputs = {};
  std::vector<std::pair<std::string, at::Tensor>> initializers = {};         ///< contiguous, on the CPU
  std::vector<std::pair<std::string, std::vector<std::string>>> texts = {};  ///< initializers of one dimension
  std::vector<Node> nodes = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};
  std::string name = {};
};

/// Returns ONNX's number of a dtype. Throws levin::UsageError for one that ONNX lacks.
int64_t onnx_dtype(at::ScalarType dtype);

/// Writes a model. Initializers above 1 MB go to `path` with ".data" behind its name if the model would have more than
/// 2 GB, which no message of protobuf may. Both files appear whole or not at all. Throws as AtomicFile does.
void write_model(const std::filesystem::path& path, const Model& model);

}  // namespace levin::onnx
