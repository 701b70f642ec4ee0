#include <levin/modules/export/onnx/model.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/version.h>
#include <levin/modules/export/onnx/protobuf_message.h>

#include <optional>
#include <string_view>
#include <utility>

namespace levin::onnx {
namespace {

// Numbers of fields and of values. Source: onnx/onnx.proto of ONNX, ir_version 8.
constexpr int64_t kIrVersion = 8;
namespace model_field {
constexpr int kIrVersion = 1, kProducer = 2, kProducerVersion = 3, kGraph = 7, kOpsetImport = 8, kMetadata = 14;
}
namespace graph_field {
constexpr int kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node_field {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5;
}
namespace attribute_field {
constexpr int kName = 1, kFloat = 2, kInt = 3, kString = 4, kInts = 8, kStrings = 9, kType = 20;
constexpr int64_t kTypeFloat = 1, kTypeInt = 2, kTypeString = 3, kTypeInts = 7, kTypeStrings = 8;
}  // namespace attribute_field
namespace tensor_field {
constexpr int kDims = 1, kDataType = 2, kStringData = 6, kName = 8, kRawData = 9, kExternalData = 13,
              kDataLocation = 14;
constexpr int64_t kExternal = 1;
}  // namespace tensor_field

/// ONNX's number of the dtype of strings.
constexpr int64_t kStrings = 8;

/// Protobuf refuses messages of 2 GB and more.
constexpr uint64_t kMostBytes = uint64_t{2000} << 20, kExternalFrom = uint64_t{1} << 20;

ProtobufMessage entry_of(const std::string& key, const std::string& value) {
  ProtobufMessage entry;
  entry.add_text(1, key);
  entry.add_text(2, value);
  return entry;
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? ""
                             : std::string_view(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
}

ProtobufMessage tensor_head(const at::Tensor& tensor, const std::string& name) {
  ProtobufMessage message;
  for (const int64_t size : tensor.sizes()) message.add_number(tensor_field::kDims, size);
  message.add_number(tensor_field::kDataType, onnx_dtype(tensor.scalar_type()));
  message.add_text(tensor_field::kName, name);
  return message;
}

/// `tensor` is contiguous and on the CPU, and outlives the message.
ProtobufMessage tensor_message(const at::Tensor& tensor, const std::string& name) {
  ProtobufMessage message = tensor_head(tensor, name);
  message.add_bytes(tensor_field::kRawData, bytes_of(tensor));
  return message;
}

ProtobufMessage text_message(const std::vector<std::string>& texts, const std::string& name) {
  ProtobufMessage message;
  message.add_number(tensor_field::kDims, static_cast<int64_t>(texts.size()));
  message.add_number(tensor_field::kDataType, kStrings);
  for (const std::string& text : texts) message.add_text(tensor_field::kStringData, text);
  message.add_text(tensor_field::kName, name);
  return message;
}

ProtobufMessage attribute_message(const std::string& name, const Attribute& attribute) {
  ProtobufMessage message;
  message.add_text(attribute_field::kName, name);
  int64_t type = 0;
  if (const auto* whole = std::get_if<int64_t>(&attribute)) {
    message.add_number(attribute_field::kInt, *whole);
    type = attribute_field::kTypeInt;
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    message.add_float(attribute_field::kFloat, static_cast<float>(*real));
    type = attribute_field::kTypeFloat;
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    message.add_text(attribute_field::kString, *text);
    type = attribute_field::kTypeString;
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) {
    for (const int64_t item : *list) message.add_number(attribute_field::kInts, item);
    type = attribute_field::kTypeInts;
  } else {
    for (const std::string& item : std::get<std::vector<std::string>>(attribute))
      message.add_text(attribute_field::kStrings, item);
    type = attribute_field::kTypeStrings;
  }
  message.add_number(attribute_field::kType, type);
  return message;
}

ProtobufMessage node_message(const Node& node) {
  ProtobufMessage message;
  for (const std::string& input : node.inputs) message.add_text(node_field::kInput, input);
  for (const std::string& output : node.outputs) message.add_text(node_field::kOutput, output);
  message.add_text(node_field::kName, node.outputs.front() + "/" + node.op);
  message.add_text(node_field::kOpType, node.op);
  for (const auto& [name, attribute] : node.attributes)
    message.add_message(node_field::kAttribute, attribute_message(name, attribute));
  return message;
}

/// ValueInfoProto { name = 1, type = 2: TypeProto { tensor_type = 1: { elem_type = 1, shape = 2: { dim = 1 } } } }
ProtobufMessage value_message(const ValueInfo& value) {
  ProtobufMessage shape, tensor, type, message;
  for (const auto& size : value.sizes) {
    ProtobufMessage dimension;
    if (const auto* number = std::get_if<int64_t>(&size))
      dimension.add_number(1, *number);
    else
      dimension.add_text(2, std::get<std::string>(size));
    shape.add_message(1, std::move(dimension));
  }
  tensor.add_number(1, value.dtype ? onnx_dtype(*value.dtype) : kStrings);
  tensor.add_message(2, std::move(shape));
  type.add_message(1, std::move(tensor));
  message.add_text(1, value.name);
  message.add_message(2, std::move(type));
  return message;
}

/// Writes large initializers to a file of their own.
class ExternalData {
 public:
  explicit ExternalData(const std::filesystem::path& model)
      : name_(model.filename().string() + ".data"), file_(model.parent_path() / name_) {}

  ProtobufMessage add(const at::Tensor& tensor, const std::string& name) {
    constexpr uint64_t kAlignment = 4096;  // as onnxruntime maps it
    static const std::string zeros(kAlignment, '\0');
    const uint64_t padding = (kAlignment - position_ % kAlignment) % kAlignment;
    file_.write(zeros.data(), padding);
    position_ += padding;
    ProtobufMessage message = tensor_head(tensor, name);
    message.add_message(tensor_field::kExternalData, entry_of("location", name_));
    message.add_message(tensor_field::kExternalData, entry_of("offset", std::to_string(position_)));
    message.add_message(tensor_field::kExternalData, entry_of("length", std::to_string(tensor.nbytes())));
    message.add_number(tensor_field::kDataLocation, tensor_field::kExternal);
    file_.write(bytes_of(tensor).data(), tensor.nbytes());
    position_ += tensor.nbytes();
    return message;
  }
  void commit() { file_.commit(); }

 private:
  std::string name_;
  AtomicFile file_;
  uint64_t position_ = 0;
};

}  // namespace

int64_t onnx_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return 1;
    case at::kByte:
      return 2;
    case at::kChar:
      return 3;
    case at::kShort:
      return 5;
    case at::kInt:
      return 6;
    case at::kLong:
      return 7;
    case at::kBool:
      return 9;
    case at::kHalf:
      return 10;
    case at::kDouble:
      return 11;
    case at::kBFloat16:
      return 16;
    default:
      throw UsageError("ONNX export: a tensor has the dtype ", toString(dtype), ", which ONNX's operators lack");
  }
}

void write_model(const std::filesystem::path& path, const Model& model) {
  const at::NoGradGuard no_grad;
  uint64_t weights = 0;
  for (const auto& [name, tensor] : model.initializers) weights += tensor.nbytes();
  std::optional<ExternalData> external;
  if (weights > kMostBytes) external.emplace(path);

  ProtobufMessage graph;
  for (const Node& node : model.nodes) graph.add_message(graph_field::kNode, node_message(node));
  graph.add_text(graph_field::kName, model.name);
  for (const ValueInfo& input : model.inputs) graph.add_message(graph_field::kInput, value_message(input));
  for (const ValueInfo& output : model.outputs) graph.add_message(graph_field::kOutput, value_message(output));
  for (const auto& [name, tensor] : model.initializers) {
    const bool is_external = external && tensor.nbytes() >= kExternalFrom;
    graph.add_message(graph_field::kInitializer,
                      is_external ? external->add(tensor, name) : tensor_message(tensor, name));
  }
  for (const auto& [name, texts] : model.texts) graph.add_message(graph_field::kInitializer, text_message(texts, name));
  ProtobufMessage opset, message;
  opset.add_text(1, "");
  opset.add_number(2, kOpset);
  message.add_number(model_field::kIrVersion, kIrVersion);
  message.add_text(model_field::kProducer, "levin");
  message.add_text(model_field::kProducerVersion, levin_version());
  message.add_message(model_field::kOpsetImport, std::move(opset));
  for (const auto& [key, value] : model.metadata) message.add_message(model_field::kMetadata, entry_of(key, value));
  message.add_message(model_field::kGraph, std::move(graph));
  AtomicFile file(path);
  message.for_each_piece([&](std::string_view bytes) { file.write(bytes.data(), bytes.size()); });
  if (external) external->commit();
  file.commit();
}

}  // namespace levin::onnx
