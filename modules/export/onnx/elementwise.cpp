#include <c10/core/ScalarType.h>
#include <levin/modules/export/onnx/call.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace levin::onnx {
namespace {

/// The dtype in which a function of two arguments computes.
at::ScalarType common_dtype(const Call& call, const std::string& a, const std::string& b) {
  const bool is_tensor_a = call.is_tensor(a), is_tensor_b = call.is_tensor(b);
  if (is_tensor_a && is_tensor_b) {
    const auto &one = call.meta(a), &other = call.meta(b);
    // A tensor of no dimension decides only if it is of another kind.
    const bool same_kind = c10::isFloatingType(one.dtype) == c10::isFloatingType(other.dtype) &&
                           (one.dtype == at::kBool) == (other.dtype == at::kBool);
    if (same_kind && one.sizes.empty() != other.sizes.empty()) return one.sizes.empty() ? other.dtype : one.dtype;
    return c10::promoteTypes(one.dtype, other.dtype);
  }
  const at::ScalarType dtype = call.meta(is_tensor_a ? a : b).dtype;
  const bool is_real = std::holds_alternative<double>(call.argument(is_tensor_a ? b : a));
  if (is_real && !c10::isFloatingType(dtype)) return at::kFloat;
  return dtype == at::kBool && !is_real ? at::kLong : dtype;
}

void give_binary(const Call& call, const std::string& op, const std::string& a = "self",
                 const std::string& b = "other") {
  const at::ScalarType dtype = call.result().dtype;
  call.give(call.add(op, {call.cast(a, dtype), call.cast(b, dtype)}));
}

void give_comparison(const Call& call, const std::string& op, bool is_negated = false) {
  at::ScalarType dtype = common_dtype(call, "self", "other");
  if (dtype == at::kBool && op != "Equal") dtype = at::kInt;
  const std::string value = call.add(op, {call.cast("self", dtype), call.cast("other", dtype)});
  call.give(is_negated ? call.add("Not", {value}) : value);
}

/// `self + alpha * other`
void give_sum(const Call& call, const std::string& op) {
  const at::ScalarType dtype = call.result().dtype;
  std::string other = call.cast("other", dtype);
  if (const double alpha = call.real("alpha"); alpha != 1) other = call.add("Mul", {other, call.scalar(alpha)});
  call.give(call.add(op, {call.cast("self", dtype), other}));
}

void give_quotient(const Call& call) {
  const at::ScalarType dtype = call.result().dtype;
  const std::string mode = call.has("rounding_mode") ? call.text("rounding_mode") : "";
  if (mode == "trunc" && c10::isFloatingType(dtype)) {
    const std::string quotient = call.add("Div", {call.cast("self", dtype), call.cast("other", dtype)});
    return call.give(call.add("Mul", {call.add("Sign", {quotient}), call.add("Floor", {call.add("Abs", {quotient})})}));
  }
  if (mode == "floor" && !c10::isFloatingType(dtype)) {
    const std::string quotient = call.add("Div", {call.cast("self", at::kDouble), call.cast("other", at::kDouble)});
    return call.give(call.cast_value(call.add("Floor", {quotient}), at::kDouble, dtype));
  }
  const std::string quotient = call.add("Div", {call.cast("self", dtype), call.cast("other", dtype)});
  call.give(mode == "floor" ? call.add("Floor", {quotient}) : quotient);
}

void give_clamp(const Call& call) {
  const at::ScalarType dtype = call.result().dtype;
  std::string value = call.cast("self", dtype);
  if (call.has("min")) value = call.add("Max", {value, call.cast("min", dtype)});
  if (call.has("max")) value = call.add("Min", {value, call.cast("max", dtype)});
  call.give(value);
}

void give_gelu(const Call& call) {
  const std::string x = call.value("self");
  std::string inner;
  if (call.text("approximate") == "tanh") {
    const std::string cube = call.add("Mul", {call.add("Mul", {x, x}), x});
    const std::string sum = call.add("Add", {x, call.add("Mul", {cube, call.scalar(0.044715)})});
    inner = call.add("Tanh", {call.add("Mul", {sum, call.scalar(std::numbers::sqrt2 * std::numbers::inv_sqrtpi)})});
  } else {
    inner = call.add("Erf", {call.add("Mul", {x, call.scalar(1 / std::numbers::sqrt2)})});
  }
  const std::string half = call.add("Mul", {x, call.scalar(0.5)});
  call.give(call.add("Mul", {half, call.add("Add", {inner, call.scalar(1)})}));
}

void give_where(const Call& call) {
  const at::ScalarType dtype = call.result().dtype;
  call.give(
      call.add("Where", {call.cast("condition", at::kBool), call.cast("self", dtype), call.cast("other", dtype)}));
}

void give_prelu(const Call& call) {
  std::string slope = call.value("weight");
  const size_t dims = call.rank("self");
  if (dims > 2 && call.meta("weight").sizes != std::vector<program::Size>{int64_t{1}}) {
    std::vector<int64_t> shape(dims - 1, 1);
    shape.front() = -1;
    slope = call.add("Reshape", {slope, call.build().wholes(shape)});
  }
  call.give(call.add("PRelu", {call.value("self"), slope}));
}

void give_power(const Call& call) {
  const at::ScalarType dtype = call.result().dtype;
  if (call.is_tensor("self") && !call.is_tensor("exponent") && call.real("exponent") == 2) {
    const std::string x = call.cast("self", dtype);
    return call.give(call.add("Mul", {x, x}));
  }
  give_binary(call, "Pow", "self", "exponent");
}

}  // namespace

void add_elementwise(Converters& converters) {
  const auto unary = [&](const std::string& name, const std::string& op) {
    converters[name] = [op](const Call& call) { call.give(call.add(op, {call.cast("self", call.result().dtype)})); };
  };
  for (const auto& [name, op] : std::map<std::string, std::string>{{"relu", "Relu"},
                                                                   {"sigmoid", "Sigmoid"},
                                                                   {"tanh", "Tanh"},
                                                                   {"exp", "Exp"},
                                                                   {"log", "Log"},
                                                                   {"sqrt", "Sqrt"},
                                                                   {"abs", "Abs"},
                                                                   {"neg", "Neg"},
                                                                   {"sin", "Sin"},
                                                                   {"cos", "Cos"},
                                                                   {"tan", "Tan"},
                                                                   {"asin", "Asin"},
                                                                   {"acos", "Acos"},
                                                                   {"atan", "Atan"},
                                                                   {"sinh", "Sinh"},
                                                                   {"cosh", "Cosh"},
                                                                   {"floor", "Floor"},
                                                                   {"ceil", "Ceil"},
                                                                   {"round", "Round"},
                                                                   {"sign", "Sign"},
                                                                   {"erf", "Erf"},
                                                                   {"reciprocal", "Reciprocal"},
                                                                   {"hardswish", "HardSwish"},
                                                                   {"softsign", "Softsign"}})
    unary(name, op);
  const auto with_one = [&](const std::string& name,
                            std::function<std::string(const Call&, const std::string& x)> make) {
    converters[name] = [make = std::move(make)](const Call& call) {
      call.give(make(call, call.cast("self", call.result().dtype)));
    };
  };
  with_one("silu", [](const Call& c, const std::string& x) { return c.add("Mul", {x, c.add("Sigmoid", {x})}); });
  with_one("rsqrt", [](const Call& c, const std::string& x) { return c.add("Reciprocal", {c.add("Sqrt", {x})}); });
  with_one("square", [](const Call& c, const std::string& x) { return c.add("Mul", {x, x}); });
  with_one("log1p", [](const Call& c, const std::string& x) { return c.add("Log", {c.add("Add", {x, c.scalar(1)})}); });
  with_one("expm1", [](const Call& c, const std::string& x) { return c.add("Sub", {c.add("Exp", {x}), c.scalar(1)}); });
  with_one("mish", [](const Call& c, const std::string& x) {
    return c.add("Mul", {x, c.add("Tanh", {c.add("Softplus", {x})})});
  });
  with_one("log_sigmoid",
           [](const Call& c, const std::string& x) { return c.add("Neg", {c.add("Softplus", {c.add("Neg", {x})})}); });
  with_one("relu6", [](const Call& c, const std::string& x) { return c.add("Clip", {x, c.scalar(0), c.scalar(6)}); });
  with_one("hardsigmoid", [](const Call& c, const std::string& x) {
    return c.add("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  });
  with_one("elu", [](const Call& c, const std::string& x) {
    if (c.real("scale") != 1 || c.real("input_scale") != 1) c.refuse("has a scale");
    return c.add("Elu", {x}, {{"alpha", c.real("alpha")}});
  });
  with_one("celu",
           [](const Call& c, const std::string& x) { return c.add("Celu", {x}, {{"alpha", c.real("alpha")}}); });
  with_one("selu", [](const Call& c, const std::string& x) { return c.add("Selu", {x}); });
  with_one("leaky_relu", [](const Call& c, const std::string& x) {
    return c.add("LeakyRelu", {x}, {{"alpha", c.real("negative_slope")}});
  });
  with_one("hardtanh", [](const Call& c, const std::string& x) {
    return c.add("Clip", {x, c.scalar(c.real("min_val")), c.scalar(c.real("max_val"))});
  });
  with_one("softplus", [](const Call& c, const std::string& x) {
    const double beta = c.real("beta");
    if (beta == 1) return c.add("Softplus", {x});
    return c.add("Div", {c.add("Softplus", {c.add("Mul", {x, c.scalar(beta)})}), c.scalar(beta)});
  });
  converters["gelu"] = give_gelu;
  converters["prelu"] = give_prelu;
  converters["clamp"] = give_clamp;
  converters["clip"] = give_clamp;
  converters["clamp_min"] = [](const Call& call) { give_clamp(call); };
  converters["clamp_max"] = [](const Call& call) { give_clamp(call); };

  converters["add"] = [](const Call& call) { give_sum(call, "Add"); };
  converters["sub"] = [](const Call& call) { give_sum(call, "Sub"); };
  converters["rsub"] = [](const Call& call) {
    const at::ScalarType dtype = call.result().dtype;
    call.give(call.add("Sub", {call.cast("other", dtype), call.cast("self", dtype)}));
  };
  converters["mul"] = [](const Call& call) { give_binary(call, "Mul"); };
  converters["div"] = give_quotient;
  converters["pow"] = give_power;
  for (const char* name : {"maximum", "minimum"})
    converters[name] = [op = std::string(name) == "maximum" ? "Max" : "Min"](const Call& call) {
      give_binary(call, op);
    };
  converters["remainder"] = [](const Call& call) {
    if (c10::isFloatingType(call.result().dtype)) {
      const at::ScalarType dtype = call.result().dtype;
      const std::string x = call.cast("self", dtype), y = call.cast("other", dtype);
      return call.give(call.add("Sub", {x, call.add("Mul", {call.add("Floor", {call.add("Div", {x, y})}), y})}));
    }
    give_binary(call, "Mod");
  };
  converters["eq"] = [](const Call& call) { give_comparison(call, "Equal"); };
  converters["ne"] = [](const Call& call) { give_comparison(call, "Equal", /*is_negated=*/true); };
  converters["lt"] = [](const Call& call) { give_comparison(call, "Less"); };
  converters["le"] = [](const Call& call) { give_comparison(call, "LessOrEqual"); };
  converters["gt"] = [](const Call& call) { give_comparison(call, "Greater"); };
  converters["ge"] = [](const Call& call) { give_comparison(call, "GreaterOrEqual"); };
  for (const auto& [name, op] : std::map<std::string, std::string>{{"and", "And"}, {"or", "Or"}, {"xor", "Xor"}}) {
    converters["logical_" + name] = [op](const Call& call) {
      call.give(call.add(op, {call.cast("self", at::kBool), call.cast("other", at::kBool)}));
    };
    converters["bitwise_" + name] = [op](const Call& call) {
      if (call.result().dtype != at::kBool) call.refuse("computes with the bits of whole numbers");
      call.give(call.add(op, {call.cast("self", at::kBool), call.cast("other", at::kBool)}));
    };
  }
  for (const char* name : {"logical_not", "bitwise_not"})
    converters[name] = [](const Call& call) {
      if (call.result().dtype != at::kBool) call.refuse("computes with the bits of whole numbers");
      call.give(call.add("Not", {call.cast("self", at::kBool)}));
    };
  converters["isnan"] = [](const Call& call) { call.give(call.add("IsNaN", {call.value("self")})); };
  converters["where"] = give_where;
  converters["masked_fill"] = [](const Call& call) {
    const at::ScalarType dtype = call.result().dtype;
    call.give(call.add("Where", {call.value("mask"), call.cast("value", dtype), call.cast("self", dtype)}));
  };
  converters["lerp"] = [](const Call& call) {
    const at::ScalarType dtype = call.result().dtype;
    const std::string x = call.cast("self", dtype);
    const std::string way = call.add("Sub", {call.cast("end", dtype), x});
    call.give(call.add("Add", {x, call.add("Mul", {way, call.cast("weight", dtype)})}));
  };
  // In evaluation these are the identity.
  for (const char* name : {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"})
    converters[name] = [](const Call& call) {
      if (call.flag("train")) call.refuse("draws random numbers; export with inference");
      call.give(call.value("input"));
    };
  for (const char* name : {"detach", "alias", "clone", "contiguous", "lift_fresh", "positive"})
    converters[name] = [](const Call& call) { call.give(call.value("self")); };
  for (const char* name : {"to", "_to_copy", "type_as", "float", "half", "double", "bfloat16"})
    converters[name] = [](const Call& call) { call.give(call.cast("self", call.result().dtype)); };
}

}  // namespace levin::onnx
