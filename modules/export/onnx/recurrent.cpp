#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/export/onnx/call.h>

#include <utility>

namespace levin::onnx {
namespace {

/// What differs between the three kinds.
struct Kind {
  std::string op;
  std::vector<int64_t> gates;  ///< places in PyTorch's order of ONNX's gates
  bool has_cell = false;
  Attributes attributes = {};
};

at::Tensor in_order(const at::Tensor& weight, const std::vector<int64_t>& gates) {
  const std::vector<at::Tensor> parts = weight.chunk(static_cast<int64_t>(gates.size()), 0);
  std::vector<at::Tensor> ordered;
  for (const int64_t gate : gates) ordered.push_back(parts[static_cast<size_t>(gate)]);
  return at::cat(ordered, 0);
}

/// The weights of one layer, for each direction.
struct Layer {
  std::vector<at::Tensor> input = {}, state = {}, bias = {};
};

void give_recurrent(const Call& call, const Kind& kind) {
  if (!call.has_argument("batch_first")) call.refuse("takes packed sequences");
  if (call.flag("train") && call.real("dropout") > 0) call.refuse("draws random numbers; export with inference");
  if (call.rank("input") != 3) call.refuse("takes a sample without the dimension of samples");
  const bool has_biases = call.flag("has_biases"), is_bidirectional = call.flag("bidirectional");
  const int64_t layers = call.integer("num_layers"), directions = is_bidirectional ? 2 : 1;
  const std::vector<at::Tensor> weights = call.tensors("params");
  const int64_t per_direction = has_biases ? 4 : 2;
  if (static_cast<int64_t>(weights.size()) != layers * directions * per_direction)
    call.refuse("has projections, or weights that are computed");
  const Names states = kind.has_cell ? call.values("hx") : Names{call.value("hx")};

  std::string x = call.value("input");
  const std::vector<int64_t> swap = {1, 0, 2};
  if (call.flag("batch_first")) x = call.add("Transpose", {x}, {{"perm", swap}});
  const int64_t size = weights[1].size(1);
  std::vector<Names> last(states.size());
  for (int64_t layer = 0; layer < layers; ++layer) {
    Layer held;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const auto first = static_cast<size_t>((layer * directions + direction) * per_direction);
      held.input.push_back(in_order(weights[first], kind.gates));
      held.state.push_back(in_order(weights[first + 1], kind.gates));
      const at::Tensor zeros = at::zeros({weights[first].size(0)}, weights[first].options());
      held.bias.push_back(at::cat({has_biases ? in_order(weights[first + 2], kind.gates) : zeros,
                                   has_biases ? in_order(weights[first + 3], kind.gates) : zeros}));
    }
    Builder& build = call.build();
    Names inputs = {x, build.constant(at::stack(held.input)), build.constant(at::stack(held.state)),
                    build.constant(at::stack(held.bias)), ""};
    for (const std::string& state : states)
      inputs.push_back(call.add("Slice", {state, build.wholes({layer * directions}),
                                          build.wholes({(layer + 1) * directions}), build.wholes({0})}));
    Attributes attributes = kind.attributes;
    attributes["hidden_size"] = size;
    if (is_bidirectional) attributes["direction"] = std::string("bidirectional");
    if (const auto named = attributes.find("activations"); named != attributes.end() && is_bidirectional)
      named->second = std::vector<std::string>(2, "Relu");
    const Names results = build.add_many(kind.op, inputs, 1 + states.size(), attributes);
    // [time, directions, batch, size] becomes [time, batch, directions * size].
    const std::string together = call.add("Transpose", {results[0]}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    x = call.add("Reshape", {together, build.wholes({0, 0, -1})});
    for (size_t s = 0; s < states.size(); ++s) last[s].push_back(results[1 + s]);
  }
  call.give(call.flag("batch_first") ? call.add("Transpose", {x}, {{"perm", swap}}) : x);
  for (size_t s = 0; s < states.size(); ++s)
    call.give(last[s].size() == 1 ? last[s][0] : call.add("Concat", last[s], {{"axis", int64_t{0}}}), 1 + s);
}

}  // namespace

void add_recurrent(Converters& converters) {
  const auto add = [&](const std::string& name, const Kind& kind) {
    converters[name] = [kind](const Call& call) { give_recurrent(call, kind); };
  };
  add("lstm", {"LSTM", {0, 3, 1, 2}, /*has_cell=*/true});                        // i, f, g, o become i, o, f, g
  add("gru", {"GRU", {1, 0, 2}, false, {{"linear_before_reset", int64_t{1}}}});  // r, z, n become z, r, n
  add("rnn_tanh", {"RNN", {0}});
  add("rnn_relu", {"RNN", {0}, false, {{"activations", std::vector<std::string>{"Relu"}}}});
}

}  // namespace levin::onnx
