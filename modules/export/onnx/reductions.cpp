#include <levin/modules/export/onnx/call.h>

namespace levin::onnx {
namespace {

std::string axes(const Call& call, const std::vector<int64_t>& dims) { return call.build().wholes(dims); }
int64_t keeps(const Call& call) { return call.has_argument("keepdim") && call.flag("keepdim") ? 1 : 0; }

/// Reduces `value` over the dimensions `dim`, or all.
std::string reduced(const Call& call, const std::string& op, const std::string& value, int64_t keepdims) {
  const size_t dims = call.rank("self");
  std::vector<int64_t> over = range_of(0, static_cast<int64_t>(dims));
  if (call.has_argument("dim")) over = call.dims("dim", dims);
  if (over.empty()) return value;
  return call.add(op, {value, axes(call, over)}, {{"keepdims", keepdims}});
}

void give_reduced(const Call& call, const std::string& op) {
  call.give(reduced(call, op, call.cast("self", call.result().dtype), keeps(call)));
}

/// `max`: of all, along a dimension with its places, or of two tensors.
void give_extreme(const Call& call, bool is_max) {
  if (call.has_argument("other")) {
    const at::ScalarType dtype = call.result().dtype;
    return call.give(call.add(is_max ? "Max" : "Min", {call.cast("self", dtype), call.cast("other", dtype)}));
  }
  const std::string x = call.value("self");
  call.give(reduced(call, is_max ? "ReduceMax" : "ReduceMin", x, keeps(call)));
  if (call.results() < 2) return;
  const int64_t dim = call.dim("dim", call.rank("self"));
  call.give(call.add(is_max ? "ArgMax" : "ArgMin", {x}, {{"axis", dim}, {"keepdims", keeps(call)}}), 1);
}

void give_place(const Call& call, const std::string& op) {
  std::string x = call.value("self");
  if (!call.has("dim")) {
    x = call.add("Reshape", {x, call.build().wholes({-1})});
    return call.give(call.add(op, {x}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}));
  }
  call.give(call.add(op, {x}, {{"axis", call.dim("dim", call.rank("self"))}, {"keepdims", keeps(call)}}));
}

/// The mean of squared distances, times n / (n - correction).
std::string variance(const Call& call) {
  const size_t dims = call.rank("self");
  const std::string x = call.value("self");
  const std::string off = call.add("Sub", {x, reduced(call, "ReduceMean", x, 1)});
  const std::string mean = reduced(call, "ReduceMean", call.add("Mul", {off, off}), keeps(call));
  double correction = 1;
  if (call.has_argument("unbiased")) correction = call.flag("unbiased") ? 1 : 0;
  if (call.has_argument("correction") && call.has("correction")) correction = call.real("correction");
  if (correction == 0) return mean;
  double count = 1;
  for (const int64_t dim : call.has_argument("dim") ? call.dims("dim", dims) : range_of(0, static_cast<int64_t>(dims)))
    count *= static_cast<double>(call.size("self", dim));
  return call.add("Mul", {mean, call.scalar(count / (count - correction))});
}

void give_norm(const Call& call) {
  const std::string order = call.has_argument("p") ? "p" : "ord";
  const double power = call.has(order) ? call.real(order) : 2;
  if (power != 1 && power != 2) call.refuse("has the order " + std::to_string(power));
  give_reduced(call, power == 1 ? "ReduceL1" : "ReduceL2");
}

void give_softmax(const Call& call, const std::string& op) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  call.give(call.add(op, {call.cast("self", call.result().dtype)}, {{"axis", dim}}));
}

void give_largest(const Call& call, const std::string& count, bool is_largest) {
  const int64_t dim = call.dim("dim", call.rank("self"));
  const Names both = call.build().add_many("TopK", {call.value("self"), count}, 2,
                                           {{"axis", dim}, {"largest", static_cast<int64_t>(is_largest)}});
  call.give(both[0], 0);
  call.give(both[1], 1);
}

}  // namespace

void add_reductions(Converters& converters) {
  for (const auto& [name, op] : std::map<std::string, std::string>{{"sum", "ReduceSum"},
                                                                   {"mean", "ReduceMean"},
                                                                   {"amax", "ReduceMax"},
                                                                   {"amin", "ReduceMin"},
                                                                   {"prod", "ReduceProd"},
                                                                   {"logsumexp", "ReduceLogSumExp"}})
    converters[name] = [op](const Call& call) { give_reduced(call, op); };
  converters["max"] = [](const Call& call) { give_extreme(call, true); };
  converters["min"] = [](const Call& call) { give_extreme(call, false); };
  converters["argmax"] = [](const Call& call) { give_place(call, "ArgMax"); };
  converters["argmin"] = [](const Call& call) { give_place(call, "ArgMin"); };
  converters["var"] = [](const Call& call) { call.give(variance(call)); };
  converters["std"] = [](const Call& call) { call.give(call.add("Sqrt", {variance(call)})); };
  for (const char* name : {"norm", "linalg_vector_norm"}) converters[name] = give_norm;
  for (const char* name : {"softmax", "_softmax"})
    converters[name] = [](const Call& call) { give_softmax(call, "Softmax"); };
  for (const char* name : {"log_softmax", "_log_softmax"})
    converters[name] = [](const Call& call) { give_softmax(call, "LogSoftmax"); };
  converters["cumsum"] = [](const Call& call) {
    const int64_t dim = call.dim("dim", call.rank("self"));
    call.give(call.add("CumSum", {call.cast("self", call.result().dtype), call.build().whole(dim)}));
  };
  for (const bool is_any : {true, false})
    converters[is_any ? "any" : "all"] = [is_any](const Call& call) {
      const std::string x = call.cast_value(call.cast("self", at::kBool), at::kBool, at::kInt);
      call.give(
          call.cast_value(reduced(call, is_any ? "ReduceMax" : "ReduceMin", x, keeps(call)), at::kInt, at::kBool));
    };
  converters["topk"] = [](const Call& call) { give_largest(call, call.sizes("k"), call.flag("largest")); };
  converters["argsort"] = [](const Call& call) {
    const int64_t dim = call.dim("dim", call.rank("self"));
    const std::string count = call.add("Shape", {call.value("self")}, {{"start", dim}, {"end", dim + 1}});
    const Attributes attributes = {{"axis", dim}, {"largest", static_cast<int64_t>(call.flag("descending"))}};
    call.give(call.build().add_many("TopK", {call.value("self"), count}, 2, attributes)[1]);
  };
  converters["sort"] = [](const Call& call) {
    const int64_t dim = call.dim("dim", call.rank("self"));
    const std::string count = call.add("Shape", {call.value("self")}, {{"start", dim}, {"end", dim + 1}});
    give_largest(call, count, call.flag("descending"));
  };
}

}  // namespace levin::onnx
