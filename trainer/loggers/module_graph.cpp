#include <levin/trainer/loggers/module_graph.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/options/registry.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/observers/output_shapes.h>
#include <torch/nn/modules/container/sequential.h>

#include <string>
#include <vector>

namespace levin {
namespace {

// Field numbers of GraphDef, NodeDef, AttrValue and TensorShapeProto.
constexpr int kNode = 1, kVersions = 4;
constexpr int kName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttribute = 5;
constexpr int kList = 1, kText = 2, kShape = 7;

/// Shortens "torch::nn::LinearImpl" to "Linear".
std::string class_of(const torch::nn::Module& module) {
  std::string name = detail::unqualified(module.name());
  if (name.size() > 4 && name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

WireMessage shape_message(c10::IntArrayRef sizes) {
  WireMessage shape;
  for (const int64_t size : sizes) shape.add(2, WireMessage().add(1, size));
  return shape;
}

class GraphWriter {
 public:
  explicit GraphWriter(LightningModule& module) {
    if (!module.example_input.empty()) {
      const RngGuard generator_as_before;
      shapes_ =
          observe_output_shapes(module, [&] { module.predict_step(module.example_input.to(module.device()), 0); });
    }
    add(module, class_of(module), "");
    graph_.add(kVersions, WireMessage().add(1, int64_t{1}));
  }
  const WireMessage& graph() const { return graph_; }

 private:
  struct Node {
    std::string name = {}, op = {};
    std::vector<std::string> inputs = {};
    std::string device = {}, dtype = {};
    const WireMessage* shape = nullptr;
  };

  /// Adds a module with all that it has; returns the name of the node that makes its output, or nothing if its
  /// forward is not known. `input`: the node before it.
  std::string add(const torch::nn::Module& module, const std::string& scope, const std::string& input) {
    const auto children = module.named_children();
    const bool is_chain = dynamic_cast<const torch::nn::SequentialImpl*>(&module) != nullptr;
    std::string last = input;
    for (const auto& child : children) {
      const std::string output = add(*child.value(), scope + "/" + child.key(), is_chain ? last : "");
      if (is_chain) last = output;
    }
    if (is_chain && !children.is_empty()) return last;
    Node node{.name = scope + "/" + class_of(module), .op = class_of(module)};
    if (!input.empty()) node.inputs.push_back(input);
    add_tensors(module.named_parameters(/*recurse=*/false), "Parameter", scope, node);
    add_tensors(module.named_buffers(/*recurse=*/false), "Buffer", scope, node);
    const bool has_part_without_node = !children.is_empty() && node.inputs.size() == (input.empty() ? 0u : 1u);
    if (has_part_without_node) return "";  // a module that only holds others
    const auto seen = shapes_.find(&module);
    WireMessage shape;
    if (seen != shapes_.end()) {
      shape = shape_message(seen->second);
      node.shape = &shape;
    }
    write(node);
    return node.name;
  }

  void add_tensors(const torch::OrderedDict<std::string, at::Tensor>& tensors, const char* op, const std::string& scope,
                   Node& user) {
    for (const auto& named : tensors) {
      if (!named.value().defined()) continue;
      const WireMessage shape = shape_message(named.value().sizes());
      const Node node{.name = scope + "/" + named.key(),
                      .op = op,
                      .device = c10::str(named.value().device()),
                      .dtype = c10::toString(named.value().scalar_type()),
                      .shape = &shape};
      write(node);
      user.inputs.push_back(node.name);
    }
  }

  void write(const Node& node) {
    WireMessage message = WireMessage().add(kName, node.name).add(kOp, node.op);
    for (const std::string& input : node.inputs) message.add(kInput, input);
    if (!node.device.empty()) message.add(kDevice, node.device);
    const auto attribute = [&](const char* name, const WireMessage& value) {
      message.add(kAttribute, WireMessage().add(1, name).add(2, value));
    };
    if (node.shape != nullptr)
      attribute("_output_shapes", WireMessage().add(kList, WireMessage().add(kShape, *node.shape)));
    if (!node.dtype.empty()) attribute("dtype", WireMessage().add(kText, node.dtype));
    graph_.add(kNode, message);
  }

  OutputShapes shapes_ = {};
  WireMessage graph_ = {};
};

}  // namespace

WireMessage module_graph(LightningModule& module) { return GraphWriter(module).graph(); }

}  // namespace levin
