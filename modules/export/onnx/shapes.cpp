#include <ATen/ops/linspace.h>
#include <levin/modules/export/onnx/call.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace levin::onnx {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

/// A part of one dimension: from `begin` to `end`, which are values of one element.
std::string slice(const Call& call, const std::string& value, int64_t dim, const std::string& begin,
                  const std::string& end, int64_t step = 1) {
  return call.add("Slice", {value, begin, end, call.build().wholes({dim}), call.build().wholes({step})});
}
std::string slice(const Call& call, const std::string& value, int64_t dim, int64_t begin, int64_t end) {
  return slice(call, value, dim, call.build().wholes({begin}), call.build().wholes({end}));
}

void give_flat(const Call& call) {
  const size_t dims = call.rank("self");
  if (dims == 0) return call.give(call.add("Reshape", {call.value("self"), call.build().wholes({1})}));
  const int64_t begin = call.dim("start_dim", dims), end = call.dim("end_dim", dims);
  if (begin == end) return call.give(call.value("self"));
  std::vector<int64_t> shape(static_cast<size_t>(begin), 0);  // as in the input
  shape.push_back(-1);
  for (int64_t i = end + 1; i < static_cast<int64_t>(dims); ++i) shape.push_back(call.size("self", i));
  call.give(call.add("Reshape", {call.value("self"), call.build().wholes(shape)}));
}

void give_unflat(const Call& call) {
  const size_t dims = call.rank("self");
  const int64_t dim = call.dim("dim", dims);
  const auto dims_of = [&](int64_t begin, int64_t end) {
    return call.add("Shape", {call.value("self")}, {{"start", begin}, {"end", end}});
  };
  const std::string shape =
      call.add("Concat", {dims_of(0, dim), call.sizes("sizes"), dims_of(dim + 1, static_cast<int64_t>(dims))},
               {{"axis", int64_t{0}}});
  call.give(call.add("Reshape", {call.value("self"), shape}));
}

void give_transposed(const Call& call, std::vector<int64_t> order) {
  call.give(call.add("Transpose", {call.value("self")}, {{"perm", std::move(order)}}));
}

void give_squeezed(const Call& call) {
  const size_t dims = call.rank("self");
  std::vector<int64_t> ones;
  for (const int64_t dim : call.has("dim") ? call.dims("dim", dims) : range_of(0, static_cast<int64_t>(dims)))
    if (call.meta("self").sizes[static_cast<size_t>(dim)] == program::Size(int64_t{1})) ones.push_back(dim);
  if (ones.empty()) return call.give(call.value("self"));
  call.give(call.add("Squeeze", {call.value("self"), call.build().wholes(ones)}));
}

void give_select(const Call& call) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  call.give(call.add("Gather", {call.value("self"), call.build().whole(call.integer("index"))}, {{"axis", dim}}));
}

void give_narrow(const Call& call) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  const std::string begin = call.sizes("start");
  call.give(slice(call, call.value("self"), dim, begin, call.add("Add", {begin, call.sizes("length")})));
}

void give_slice(const Call& call) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  const std::string begin = call.has("start") ? call.sizes("start") : call.build().wholes({0});
  const std::string end = call.has("end") ? call.sizes("end") : call.build().wholes({kEnd});
  call.give(slice(call, call.value("self"), dim, begin, end, call.integer("step")));
}

/// The parts of `chunk`, `split` and `split_with_sizes`, whose sizes are known from the results.
void give_parts(const Call& call) {
  const size_t dims = call.rank("self");
  const int64_t dim = call.dim("dim", dims);
  int64_t begin = 0;
  for (size_t i = 0; i < call.results(); ++i) {
    const auto* size = std::get_if<int64_t>(&call.result(i).sizes[static_cast<size_t>(dim)]);
    if (size == nullptr) call.refuse("divides a size that may change");
    call.give(slice(call, call.value("self"), dim, begin, begin + *size), i);
    begin += *size;
  }
}

void give_unbound(const Call& call) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  for (size_t i = 0; i < call.results(); ++i)
    call.give(call.add("Gather", {call.value("self"), call.build().whole(static_cast<int64_t>(i))}, {{"axis", dim}}),
              i);
}

void give_joined(const Call& call) {
  Names values = call.values("tensors");
  const auto metas = call.metas("tensors");
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = call.cast_value(values[i], metas[i].dtype, call.result().dtype);
  call.give(call.add("Concat", values, {{"axis", call.dim("dim", call.result().sizes.size())}}));
}

void give_stacked(const Call& call) {
  const int64_t dim = call.dim("dim", call.result().sizes.size());
  Names values;
  for (const std::string& value : call.values("tensors"))
    values.push_back(call.add("Unsqueeze", {value, call.build().wholes({dim})}));
  call.give(call.add("Concat", values, {{"axis", dim}}));
}

/// ONNX's Expand takes 1 where PyTorch takes -1.
std::string without_minus(const Call& call, const std::string& name) {
  const auto* list = std::get_if<std::vector<program::NumberOrName>>(&call.argument(name));
  bool is_fixed = list != nullptr;
  std::vector<int64_t> numbers;
  for (size_t i = 0; is_fixed && i < list->size(); ++i) {
    const auto* number = std::get_if<int64_t>(&(*list)[i]);
    is_fixed = number != nullptr;
    if (is_fixed) numbers.push_back(*number == -1 ? 1 : *number);
  }
  if (is_fixed) return call.build().wholes(numbers);
  const std::string sizes = call.sizes(name);
  return call.add("Max", {sizes, call.build().wholes({1})});
}

void give_repeated(const Call& call) {
  const int64_t dim = call.has("dim") ? call.dim("dim", call.rank("self")) : -1;
  if (dim < 0 || call.is_tensor("repeats")) call.refuse("repeats each element by a number of its own");
  const int64_t times = call.integer("repeats"), size = call.size("self", dim);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size * times; ++i) indices.push_back(i / times);
  call.give(call.add("Gather", {call.value("self"), call.build().wholes(indices)}, {{"axis", dim}}));
}

void give_flipped(const Call& call) {
  std::string value = call.value("self");
  for (const int64_t dim : call.dims("dims", call.rank("self")))
    value = slice(call, value, dim, call.build().wholes({-1}), call.build().wholes({-kEnd}), -1);
  call.give(value);
}

void give_rolled(const Call& call) {
  const std::vector<int64_t> dims = call.dims("dims", call.rank("self")), shifts = call.integers("shifts");
  std::string value = call.value("self");
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::string last = slice(call, value, dims[i], -shifts[i], kEnd),
                      first = slice(call, value, dims[i], 0, -shifts[i]);
    value = call.add("Concat", {last, first}, {{"axis", dims[i]}});
  }
  call.give(value);
}

/// `x[:, index]`: one tensor of whole numbers.
void give_indexed(const Call& call) {
  const auto* list = std::get_if<std::vector<std::optional<program::Name>>>(&call.argument("indices"));
  std::optional<size_t> place;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (!(*list)[i]) continue;
    if (place) call.refuse("takes several tensors of indices");
    place = i;
  }
  if (!place) call.refuse("takes no tensor of indices");
  if (const at::ScalarType dtype = call.optional_dtype("indices", *place); dtype == at::kBool || dtype == at::kByte)
    call.refuse("takes a mask, by which the size of its result depends on values");
  call.give(call.add("Gather", {call.value("self"), call.optional_value("indices", *place)},
                     {{"axis", static_cast<int64_t>(*place)}}));
}

void give_scattered(const Call& call, const std::string& reduction) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  std::string source;
  if (call.has_argument("src"))
    source = call.cast("src", call.result().dtype);
  else
    source = call.add("Expand", {call.cast("value", call.result().dtype), call.add("Shape", {call.value("index")})});
  Attributes attributes = {{"axis", dim}};
  if (!reduction.empty()) attributes["reduction"] = reduction;
  call.give(call.add("ScatterElements", {call.value("self"), call.value("index"), source}, attributes));
}

/// An index for each row becomes one for each element.
void give_index_added(const Call& call) {
  const size_t dims = call.rank("self");
  const int64_t dim = call.dim("dim", dims);
  if (call.real("alpha") != 1) call.refuse("has a factor");
  std::vector<int64_t> shape(dims, 1);
  shape[static_cast<size_t>(dim)] = -1;
  const std::string index = call.add("Reshape", {call.cast("index", at::kLong), call.build().wholes(shape)});
  const std::string wide = call.add("Expand", {index, call.add("Shape", {call.value("source")})});
  call.give(call.add("ScatterElements", {call.value("self"), wide, call.cast("source", call.result().dtype)},
                     {{"axis", dim}, {"reduction", std::string("add")}}));
}

void give_padded(const Call& call, const std::string& mode) {
  const size_t dims = call.rank("self");
  const std::vector<int64_t> pad = call.integers("pad");
  std::vector<int64_t> pads(2 * dims, 0);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    pads[dims - 1 - i] = pad[2 * i];
    pads[2 * dims - 1 - i] = pad[2 * i + 1];
  }
  Names inputs = {call.value("self"), call.build().wholes(pads)};
  if (mode == "constant" && call.has("value")) inputs.push_back(call.scalar(call.real("value")));
  call.give(call.add("Pad", inputs, {{"mode", mode}}));
}

void give_pad(const Call& call) {
  const std::string mode = call.text("mode");
  if (mode == "circular") call.refuse("pads in a circle");
  give_padded(call, mode == "replicate" ? "edge" : mode);
}

void give_range(const Call& call) {
  const at::ScalarType dtype = call.result().dtype;
  const auto bound = [&](const std::string& name, double missing) {
    return call.has_argument(name) && call.has(name) ? call.cast(name, dtype) : call.scalar(missing);
  };
  call.give(call.add("Range", {bound("start", 0), call.cast("end", dtype), bound("step", 1)}));
}

/// A tensor of one value, of sizes that are given or those of `self`.
void give_filled(const Call& call, double value, bool is_like) {
  const std::string sizes = is_like ? call.add("Shape", {call.value("self")}) : call.sizes("size");
  call.give(call.add("Expand", {call.scalar(value), sizes}));
}

void give_triangle(const Call& call, bool is_upper) {
  const bool is_bool = call.result().dtype == at::kBool;
  const std::string value = call.cast("self", is_bool ? at::kInt : call.result().dtype);
  const std::string part = call.add("Trilu", {value, call.build().whole(call.integer("diagonal"))},
                                    {{"upper", static_cast<int64_t>(is_upper)}});
  call.give(is_bool ? call.cast_value(part, at::kInt, at::kBool) : part);
}

}  // namespace

void add_shapes(Converters& converters) {
  for (const char* name : {"view", "_unsafe_view"})
    converters[name] = [](const Call& call) {
      call.give(call.add("Reshape", {call.value("self"), call.sizes("size")}, {{"allowzero", int64_t{0}}}));
    };
  converters["reshape"] = [](const Call& call) {
    call.give(call.add("Reshape", {call.value("self"), call.sizes("shape")}, {{"allowzero", int64_t{0}}}));
  };
  for (const char* name : {"view_as", "reshape_as"})
    converters[name] = [](const Call& call) {
      call.give(call.add("Reshape", {call.value("self"), call.add("Shape", {call.value("other")})}));
    };
  converters["flatten"] = give_flat;
  converters["unflatten"] = give_unflat;
  converters["t"] = [](const Call& call) {
    if (call.rank("self") < 2) return call.give(call.value("self"));
    give_transposed(call, {1, 0});
  };
  converters["numpy_T"] = [](const Call& call) {
    std::vector<int64_t> order = range_of(0, static_cast<int64_t>(call.rank("self")));
    give_transposed(call, {order.rbegin(), order.rend()});
  };
  converters["transpose"] = [](const Call& call) {
    const size_t dims = call.rank("self");
    std::vector<int64_t> order = range_of(0, static_cast<int64_t>(dims));
    std::swap(order[static_cast<size_t>(call.dim("dim0", dims))], order[static_cast<size_t>(call.dim("dim1", dims))]);
    give_transposed(call, order);
  };
  converters["permute"] = [](const Call& call) { give_transposed(call, call.dims("dims", call.rank("self"))); };
  converters["movedim"] = [](const Call& call) {
    const std::vector<int64_t> from = call.dims("source", call.rank("self")),
                               to = call.dims("destination", call.rank("self"));
    std::vector<int64_t> order(call.rank("self"), -1);
    for (size_t i = 0; i < from.size(); ++i) order[static_cast<size_t>(to[i])] = from[i];
    int64_t next = 0;
    for (int64_t& place : order) {
      if (place >= 0) continue;
      while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
      place = next++;
    }
    give_transposed(call, order);
  };
  converters["squeeze"] = give_squeezed;
  converters["unsqueeze"] = [](const Call& call) {
    const int64_t dim = call.dim("dim", call.result().sizes.size());
    call.give(call.add("Unsqueeze", {call.value("self"), call.build().wholes({dim})}));
  };
  converters["select"] = give_select;
  converters["narrow"] = give_narrow;
  converters["slice"] = give_slice;
  for (const char* name : {"chunk", "split", "split_with_sizes", "tensor_split"}) converters[name] = give_parts;
  converters["unbind"] = give_unbound;
  for (const char* name : {"cat", "concat"}) converters[name] = give_joined;
  converters["stack"] = give_stacked;
  converters["expand"] = [](const Call& call) {
    call.give(call.add("Expand", {call.value("self"), without_minus(call, "size")}));
  };
  converters["expand_as"] = [](const Call& call) {
    call.give(call.add("Expand", {call.value("self"), call.add("Shape", {call.value("other")})}));
  };
  converters["repeat"] = [](const Call& call) {
    std::string value = call.value("self");
    const size_t more = call.result().sizes.size() - call.rank("self");
    if (more > 0) value = call.add("Unsqueeze", {value, call.build().wholes(range_of(0, static_cast<int64_t>(more)))});
    call.give(call.add("Tile", {value, call.sizes("repeats")}));
  };
  converters["repeat_interleave"] = give_repeated;
  converters["flip"] = give_flipped;
  converters["roll"] = give_rolled;
  converters["index_select"] = [](const Call& call) {
    call.give(
        call.add("Gather", {call.value("self"), call.value("index")}, {{"axis", call.dim("dim", call.rank("self"))}}));
  };
  converters["index"] = give_indexed;
  converters["gather"] = [](const Call& call) {
    call.give(call.add("GatherElements", {call.value("self"), call.value("index")},
                       {{"axis", call.dim("dim", call.rank("self"))}}));
  };
  converters["scatter"] = [](const Call& call) { give_scattered(call, ""); };
  converters["scatter_add"] = [](const Call& call) { give_scattered(call, "add"); };
  converters["index_add"] = give_index_added;
  converters["constant_pad_nd"] = [](const Call& call) { give_padded(call, "constant"); };
  converters["pad"] = give_pad;
  for (const char* name : {"reflection_pad1d", "reflection_pad2d"})
    converters[name] = [](const Call& call) { call.refuse("is written as pad"); };
  converters["arange"] = give_range;
  converters["zeros"] = [](const Call& call) { give_filled(call, 0, false); };
  converters["ones"] = [](const Call& call) { give_filled(call, 1, false); };
  converters["full"] = [](const Call& call) { give_filled(call, call.real("fill_value"), false); };
  // C++ fills a new tensor to subtract from a number.
  converters["empty"] = [](const Call& call) { give_filled(call, 0, false); };
  converters["empty_like"] = [](const Call& call) { give_filled(call, 0, true); };
  converters["fill"] = [](const Call& call) {
    const std::string value = call.cast("value", call.result().dtype);
    call.give(call.add("Expand", {value, call.add("Shape", {call.value("self")})}));
  };
  converters["zero"] = [](const Call& call) { give_filled(call, 0, true); };
  converters["zeros_like"] = [](const Call& call) { give_filled(call, 0, true); };
  converters["ones_like"] = [](const Call& call) { give_filled(call, 1, true); };
  converters["full_like"] = [](const Call& call) { give_filled(call, call.real("fill_value"), true); };
  converters["scalar_tensor"] = [](const Call& call) { call.give(call.scalar(call.real("s"))); };
  converters["linspace"] = [](const Call& call) {
    const int64_t steps = call.integer("steps");
    const double begin = call.real("start"), end = call.real("end");
    call.give(call.build().constant(at::linspace(begin, end, steps, at::TensorOptions(call.result().dtype))));
  };
  converters["tril"] = [](const Call& call) { give_triangle(call, false); };
  converters["triu"] = [](const Call& call) { give_triangle(call, true); };
}

}  // namespace levin::onnx
