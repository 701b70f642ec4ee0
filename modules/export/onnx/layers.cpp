#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/export/onnx/call.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace levin::onnx {
namespace {

void give_linear(const Call& call) {
  const std::string x = call.value("input"), weight = call.value("weight");
  if (call.rank("input") == 2) {
    Names inputs = {x, weight};
    if (call.has("bias")) inputs.push_back(call.value("bias"));
    return call.give(call.add("Gemm", inputs, {{"transB", int64_t{1}}}));
  }
  const std::string product = call.add("MatMul", {x, call.transposed(weight, 2)});
  call.give(call.has("bias") ? call.add("Add", {product, call.value("bias")}) : product);
}

void give_addmm(const Call& call) {
  call.give(call.add("Gemm", {call.value("mat1"), call.value("mat2"), call.value("self")},
                     {{"alpha", call.real("alpha")}, {"beta", call.real("beta")}}));
}

void give_product(const Call& call, const std::string& other) {
  call.give(call.add("MatMul", {call.value("self"), call.value(other)}));
}

void give_einsum(const Call& call) {
  std::string equation = call.text("equation");
  std::erase(equation, ' ');
  call.give(call.add("Einsum", call.values("tensors"), {{"equation", equation}}));
}

/// {begins..., ends...}
std::vector<int64_t> both_sides(const std::vector<int64_t>& padding) {
  std::vector<int64_t> pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

std::vector<int64_t> kernel_of(const Call& call) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < call.rank("weight"); ++i) kernel.push_back(call.size("weight", static_cast<int64_t>(i)));
  return kernel;
}

/// ONNX has samples and channels always; PyTorch takes one sample without its dimension, too.
void check_samples(const Call& call, const std::string& input, size_t spatial) {
  if (call.rank(input) != spatial + 2) call.refuse("takes a sample without the dimension of samples");
}

Names with_bias(const Call& call, Names inputs) {
  if (call.has("bias")) inputs.push_back(call.value("bias"));
  return inputs;
}

void give_convolution(const Call& call) {
  const std::vector<int64_t> kernel = kernel_of(call);
  check_samples(call, "input", kernel.size());
  Attributes attributes = {{"kernel_shape", kernel},
                           {"strides", call.integers("stride", kernel.size())},
                           {"dilations", call.integers("dilation", kernel.size())},
                           {"group", call.integer("groups")}};
  if (const std::string padding = call.text("padding"); padding == "same")
    attributes["auto_pad"] = std::string("SAME_UPPER");
  else if (padding.empty())
    attributes["pads"] = both_sides(call.integers("padding", kernel.size()));
  call.give(call.add("Conv", with_bias(call, {call.value("input"), call.value("weight")}), attributes));
}

void give_transposed_convolution(const Call& call) {
  const std::vector<int64_t> kernel = kernel_of(call);
  check_samples(call, "input", kernel.size());
  call.give(call.add("ConvTranspose", with_bias(call, {call.value("input"), call.value("weight")}),
                     {{"kernel_shape", kernel},
                      {"strides", call.integers("stride", kernel.size())},
                      {"dilations", call.integers("dilation", kernel.size())},
                      {"pads", both_sides(call.integers("padding", kernel.size()))},
                      {"output_padding", call.integers("output_padding", kernel.size())},
                      {"group", call.integer("groups")}}));
}

Attributes window_of(const Call& call, size_t spatial) {
  check_samples(call, "self", spatial);
  const std::vector<int64_t> kernel = call.integers("kernel_size", spatial);
  std::vector<int64_t> stride = call.integers("stride", spatial);
  if (stride.empty()) stride = kernel;
  return {{"kernel_shape", kernel},
          {"strides", stride},
          {"pads", both_sides(call.integers("padding", spatial))},
          {"ceil_mode", static_cast<int64_t>(call.flag("ceil_mode"))}};
}

void give_largest_of_window(const Call& call, size_t spatial) {
  Attributes attributes = window_of(call, spatial);
  attributes["dilations"] = call.integers("dilation", spatial);
  call.give(call.add("MaxPool", {call.value("self")}, attributes));
}

void give_mean_of_window(const Call& call, size_t spatial) {
  if (call.has_argument("divisor_override") && call.has("divisor_override")) call.refuse("has a divisor of its own");
  Attributes attributes = window_of(call, spatial);
  attributes["count_include_pad"] = static_cast<int64_t>(call.flag("count_include_pad"));
  call.give(call.add("AveragePool", {call.value("self")}, attributes));
}

void give_adaptive(const Call& call, size_t spatial, bool is_max) {
  check_samples(call, "self", spatial);
  const std::vector<int64_t> wanted = call.integers("output_size", spatial);
  const std::string x = call.value("self");
  const auto dims = static_cast<int64_t>(spatial);
  if (std::ranges::all_of(wanted, [](int64_t size) { return size == 1; }))
    return call.give(call.add(is_max ? "ReduceMax" : "ReduceMean", {x, call.build().wholes(range_of(2, 2 + dims))},
                              {{"keepdims", int64_t{1}}}));
  std::vector<int64_t> kernel;
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t size = call.size("self", 2 + i), parts = wanted[static_cast<size_t>(i)];
    if (size % parts != 0)
      call.refuse("divides " + std::to_string(size) + " into " + std::to_string(parts) + " unequal parts");
    kernel.push_back(size / parts);
  }
  call.give(call.add(is_max ? "MaxPool" : "AveragePool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}}));
}

/// Returns the weight `name`; if it was left out, a constant of these sizes in which each element is `value`.
std::string weight_or(const Call& call, const std::string& name, const std::vector<int64_t>& sizes, double value,
                      const std::string& input) {
  if (call.has(name)) return call.value(name);
  return call.build().constant(at::full(sizes, value, at::TensorOptions(call.meta(input).dtype)));
}

void give_batch_norm(const Call& call) {
  if (call.flag("training") || !call.has("running_mean"))
    call.refuse("normalizes by the batch; export with inference, and with running statistics");
  const int64_t channels = call.size("running_mean", 0);
  call.give(
      call.add("BatchNormalization",
               {call.value("input"), weight_or(call, "weight", {channels}, 1, "input"),
                weight_or(call, "bias", {channels}, 0, "input"), call.value("running_mean"), call.value("running_var")},
               {{"epsilon", call.real("eps")}}));
}

void give_instance_norm(const Call& call) {
  const int64_t channels = call.size("input", 1);
  const std::string scale = weight_or(call, "weight", {channels}, 1, "input"),
                    bias = weight_or(call, "bias", {channels}, 0, "input");
  if (call.flag("use_input_stats"))
    return call.give(
        call.add("InstanceNormalization", {call.value("input"), scale, bias}, {{"epsilon", call.real("eps")}}));
  call.give(call.add("BatchNormalization",
                     {call.value("input"), scale, bias, call.value("running_mean"), call.value("running_var")},
                     {{"epsilon", call.real("eps")}}));
}

void give_layer_norm(const Call& call) {
  const std::vector<int64_t> shape = call.integers("normalized_shape");
  Names inputs = {call.value("input"), weight_or(call, "weight", shape, 1, "input")};
  if (call.has("bias")) inputs.push_back(call.value("bias"));
  call.give(call.add("LayerNormalization", inputs,
                     {{"axis", -static_cast<int64_t>(shape.size())}, {"epsilon", call.real("eps")}}));
}

/// Groups are the channels of an instance norm.
void give_group_norm(const Call& call) {
  const std::string x = call.value("input");
  const int64_t groups = call.integer("num_groups");
  const at::TensorOptions as_input(call.meta("input").dtype);
  const std::string grouped = call.add("Reshape", {x, call.build().wholes({0, groups, -1})});
  const std::string normal = call.add("InstanceNormalization",
                                      {grouped, call.build().constant(at::ones({groups}, as_input)),
                                       call.build().constant(at::zeros({groups}, as_input))},
                                      {{"epsilon", call.real("eps")}});
  std::string value = call.add("Reshape", {normal, call.add("Shape", {x})});
  std::vector<int64_t> shape(call.rank("input") - 1, 1);
  shape.front() = -1;
  const std::string per_channel = call.build().wholes(shape);
  if (call.has("weight")) value = call.add("Mul", {value, call.add("Reshape", {call.value("weight"), per_channel})});
  if (call.has("bias")) value = call.add("Add", {value, call.add("Reshape", {call.value("bias"), per_channel})});
  call.give(value);
}

void give_attention(const Call& call) {
  if (call.flag("enable_gqa")) call.refuse("shares keys among heads; repeat them (repeat_interleave)");
  const size_t dims = call.rank("query");
  const double width = static_cast<double>(call.size("query", static_cast<int64_t>(dims) - 1));
  const double scale = call.has("scale") ? call.real("scale") : 1 / std::sqrt(width);
  const std::string query = call.add("Mul", {call.value("query"), call.scalar(scale)});
  std::string scores = call.add("MatMul", {query, call.transposed(call.value("key"), dims)});
  const std::string least = call.scalar(-std::numeric_limits<double>::infinity());
  if (call.flag("is_causal")) {
    const std::string shape = call.add("Shape", {scores}, {{"start", int64_t{-2}}});
    const std::string ones = call.add("Expand", {call.build().number(1, at::kInt), shape});
    const std::string seen = call.add("Trilu", {ones}, {{"upper", int64_t{0}}});
    scores = call.add("Where", {call.cast_value(seen, at::kInt, at::kBool), scores, least});
  }
  if (call.has("attn_mask")) {
    const std::string mask = call.value("attn_mask");
    scores = call.meta("attn_mask").dtype == at::kBool ? call.add("Where", {mask, scores, least})
                                                       : call.add("Add", {scores, mask});
  }
  call.give(call.add("MatMul", {call.add("Softmax", {scores}, {{"axis", int64_t{-1}}}), call.value("value")}));
}

void give_cosine(const Call& call) {
  const std::string axes = call.build().wholes({call.dim("dim", std::max(call.rank("x1"), call.rank("x2")))});
  const auto length = [&](const std::string& name) {
    const std::string norm = call.add("ReduceL2", {call.value(name), axes}, {{"keepdims", int64_t{0}}});
    return call.add("Max", {norm, call.scalar(call.real("eps"))});
  };
  const std::string products = call.add("Mul", {call.value("x1"), call.value("x2")});
  const std::string dot = call.add("ReduceSum", {products, axes}, {{"keepdims", int64_t{0}}});
  call.give(call.add("Div", {dot, call.add("Mul", {length("x1"), length("x2")})}));
}

void give_resized(const Call& call, const std::string& mode, size_t spatial) {
  const std::string x = call.value(call.has_argument("self") ? "self" : "input");
  const bool is_exact = mode != "nearest" && call.flag("align_corners");
  Attributes attributes = {{"mode", mode}};
  attributes["coordinate_transformation_mode"] = std::string(mode == "nearest" ? "asymmetric"
                                                             : is_exact        ? "align_corners"
                                                                               : "half_pixel");
  if (mode == "nearest") attributes["nearest_mode"] = std::string("floor");
  if (mode == "cubic") attributes["cubic_coeff_a"] = -0.75;
  if (call.has("output_size")) {
    const std::string kept = call.add("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{2}}});
    const std::string sizes = call.add("Concat", {kept, call.sizes("output_size")}, {{"axis", int64_t{0}}});
    return call.give(call.add("Resize", {x, "", "", sizes}, attributes));
  }
  const auto* list = std::get_if<std::vector<program::NumberOrName>>(&call.argument("scale_factors"));
  if (list == nullptr || list->size() != spatial) call.refuse("has neither a size nor factors");
  std::vector<float> scales = {1, 1};
  for (const program::NumberOrName& scale : *list) {
    if (std::holds_alternative<program::Name>(scale)) call.refuse("has a factor that may change");
    scales.push_back(static_cast<float>(std::get<double>(scale)));
  }
  call.give(call.add("Resize", {x, "", call.build().constant(at::tensor(scales))}, attributes));
}

void give_glu(const Call& call) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  const Names halves =
      call.build().add_many("Split", {call.value("self")}, 2, {{"axis", dim}, {"num_outputs", int64_t{2}}});
  call.give(call.add("Mul", {halves[0], call.add("Sigmoid", {halves[1]})}));
}

}  // namespace

void add_layers(Converters& converters) {
  converters["linear"] = give_linear;
  converters["addmm"] = give_addmm;
  converters["mm"] = [](const Call& call) { give_product(call, "mat2"); };
  converters["bmm"] = [](const Call& call) { give_product(call, "mat2"); };
  converters["matmul"] = [](const Call& call) { give_product(call, "other"); };
  converters["mv"] = [](const Call& call) { give_product(call, "vec"); };
  converters["baddbmm"] = [](const Call& call) {
    std::string product = call.add("MatMul", {call.value("batch1"), call.value("batch2")});
    if (call.real("alpha") != 1) product = call.add("Mul", {product, call.scalar(call.real("alpha"))});
    std::string added = call.value("self");
    if (call.real("beta") == 0) return call.give(product);
    if (call.real("beta") != 1) added = call.add("Mul", {added, call.scalar(call.real("beta"))});
    call.give(call.add("Add", {product, added}));
  };
  converters["einsum"] = give_einsum;
  converters["embedding"] = [](const Call& call) {
    call.give(call.add("Gather", {call.value("weight"), call.value("indices")}));
  };
  for (const char* name : {"conv1d", "conv2d", "conv3d"}) converters[name] = give_convolution;
  for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
    converters[name] = give_transposed_convolution;
  for (const size_t spatial : {1, 2, 3}) {
    const std::string end = std::to_string(spatial) + "d";
    converters["max_pool" + end] = [spatial](const Call& call) { give_largest_of_window(call, spatial); };
    converters["avg_pool" + end] = [spatial](const Call& call) { give_mean_of_window(call, spatial); };
    converters["adaptive_avg_pool" + end] = [spatial](const Call& call) { give_adaptive(call, spatial, false); };
    converters["adaptive_max_pool" + end] = [spatial](const Call& call) { give_adaptive(call, spatial, true); };
    converters["upsample_nearest" + end] = [spatial](const Call& call) { give_resized(call, "nearest", spatial); };
  }
  converters["upsample_linear1d"] = [](const Call& call) { give_resized(call, "linear", 1); };
  converters["upsample_bilinear2d"] = [](const Call& call) { give_resized(call, "linear", 2); };
  converters["upsample_trilinear3d"] = [](const Call& call) { give_resized(call, "linear", 3); };
  converters["upsample_bicubic2d"] = [](const Call& call) { give_resized(call, "cubic", 2); };
  converters["batch_norm"] = give_batch_norm;
  converters["instance_norm"] = give_instance_norm;
  converters["layer_norm"] = give_layer_norm;
  converters["group_norm"] = give_group_norm;
  converters["scaled_dot_product_attention"] = give_attention;
  converters["cosine_similarity"] = give_cosine;
  converters["pixel_shuffle"] = [](const Call& call) {
    call.give(call.add("DepthToSpace", {call.value("self")},
                       {{"blocksize", call.integer("upscale_factor")}, {"mode", std::string("CRD")}}));
  };
  converters["glu"] = give_glu;
}

}  // namespace levin::onnx
