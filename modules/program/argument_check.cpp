#include <levin/modules/program/argument_check.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <levin/core/system/error.h>

#include <array>
#include <string>
#include <utility>

namespace levin::program {
namespace {

using Arguments = std::vector<c10::IValue>;

void require(bool holds, const char* what) {
  if (!holds) throw UsageError(what);
}

/// _weight_norm(v, g, dim): its kernel for the first and the last dimension takes g's size for granted.
void check_weight_norm(const Arguments& arguments) {
  const at::Tensor &v = arguments[0].toTensor(), &g = arguments[1].toTensor();
  const int64_t dim = arguments[2].toInt();
  require(v.dim() > 0 && v.numel() > 0 && dim >= -1 && dim < v.dim(), "v must have elements, and a dimension 'dim'");
  std::vector<int64_t> expected(static_cast<size_t>(v.dim()), 1);
  if (dim >= 0) expected[static_cast<size_t>(dim)] = v.size(dim);
  require(g.sizes() == at::IntArrayRef(expected), "g must have the size of v in 'dim', and 1 elsewhere");
  require(g.scalar_type() == v.scalar_type(), "v and g must have one dtype");
}

/// pdist(self, p): backward divides by the number of rows.
void check_pdist(const Arguments& arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  require(self.dim() == 2 && self.numel() > 0, "self must be a matrix that has elements");
}

/// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa): with the last,
/// it divides by the heads of key and value.
void check_attention(const Arguments& arguments) {
  constexpr size_t kEnableGqa = 7;
  if (arguments.size() <= kEnableGqa || !arguments[kEnableGqa].toBool()) return;
  for (size_t i = 0; i < 3; ++i) {
    const at::Tensor& one = arguments[i].toTensor();
    require(one.dim() >= 3 && one.size(-3) > 0, "with enable_gqa, query, key and value must have heads");
  }
}

/// lift(self), lift_fresh(self): they return self, and autograd would make a parameter the result of itself.
void check_lift(const Arguments& arguments) {
  require(!arguments[0].toTensor().requires_grad(), "self must be a constant, not a tensor that gets a gradient");
}

/// lstm, gru and rnn_*(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first): states
/// and weights of each layer and direction, of which the kernels believe the number and the sizes.
void check_rnn(const Arguments& arguments, int64_t gates) {
  const bool is_lstm = gates == 4;
  const at::Tensor& input = arguments[0].toTensor();
  std::vector<at::Tensor> states;
  if (is_lstm)
    states = arguments[1].toTensorVector();
  else
    states = {arguments[1].toTensor()};
  const std::vector<at::Tensor> weights = arguments[2].toTensorVector();
  const auto fits = [&](const at::Tensor& tensor) {
    if (at::autocast::is_autocast_enabled(at::kCPU)) return tensor.is_floating_point();  // which converts them
    return tensor.scalar_type() == input.scalar_type();
  };
  const bool has_biases = arguments[3].toBool(), is_batch_first = arguments[8].toBool();
  const int64_t layers = arguments[4].toInt(), directions = arguments[7].toBool() ? 2 : 1;
  constexpr int64_t kMostLayers = 10000;
  require(layers > 0 && layers <= kMostLayers, "num_layers must be at least 1, and at most 10000");
  require(input.dim() == 3 && input.numel() > 0, "input must have 3 dimensions and elements");
  require(input.is_floating_point(), "input must be of floating-point numbers");
  require(states.size() == (is_lstm ? 2u : 1u), "an lstm takes two states");
  for (const at::Tensor& state : states) {
    require(state.dim() == 3 && state.numel() > 0 && state.size(0) == layers * directions &&
                state.size(1) == input.size(is_batch_first ? 0 : 1) && fits(state),
            "a state must be [num_layers * directions, batch, features], of input's dtype");
  }
  const int64_t hidden = states.back().size(2), returned = states.front().size(2);
  const bool has_projection = returned != hidden;
  const size_t per_layer = 2 + (has_biases ? 2u : 0u) + (has_projection ? 1u : 0u);
  require(weights.size() == per_layer * static_cast<size_t>(layers * directions),
          "params must be the weights and biases of each layer and direction");
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool is_first = i < per_layer * static_cast<size_t>(directions);
    const int64_t taken = is_first ? input.size(2) : returned * directions;
    const size_t at = i % per_layer;
    std::vector<int64_t> expected = {gates * hidden};
    if (at < 2) expected.push_back(at == 0 ? taken : returned);
    if (has_projection && at == per_layer - 1) expected = {returned, hidden};
    require(weights[i].sizes() == at::IntArrayRef(expected) && fits(weights[i]),
            "params must have the sizes that follow from input and hx, and input's dtype");
  }
}

template <int64_t gates>
void check_rnn_of(const Arguments& arguments) {
  check_rnn(arguments, gates);
}

constexpr std::array kChecks = {
    std::pair<std::string_view, ArgumentCheck>{"aten::_weight_norm", check_weight_norm},
    std::pair<std::string_view, ArgumentCheck>{"aten::pdist", check_pdist},
    std::pair<std::string_view, ArgumentCheck>{"aten::scaled_dot_product_attention", check_attention},
    std::pair<std::string_view, ArgumentCheck>{"aten::lift", check_lift},
    std::pair<std::string_view, ArgumentCheck>{"aten::lift_fresh", check_lift},
    std::pair<std::string_view, ArgumentCheck>{"aten::lstm", check_rnn_of<4>},
    std::pair<std::string_view, ArgumentCheck>{"aten::gru", check_rnn_of<3>},
    std::pair<std::string_view, ArgumentCheck>{"aten::rnn_tanh", check_rnn_of<1>},
    std::pair<std::string_view, ArgumentCheck>{"aten::rnn_relu", check_rnn_of<1>},
};

}  // namespace

ArgumentCheck find_argument_check(const c10::OperatorHandle& op) {
  for (const auto& [name, check] : kChecks)
    if (name == op.operator_name().name) return check;
  return nullptr;
}

}  // namespace levin::program
