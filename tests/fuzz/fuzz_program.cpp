#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <levin/modules/program/operators.h>
#include <levin/modules/program/program_json.h>
#include <levin/modules/program/runner.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/tuner/cpu_memory_limit.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"

namespace levin::testing {
namespace {

using namespace program;
using Json = nlohmann::json;

constexpr size_t kMostBytes = 32 << 20;  ///< that operators may allocate at a time

/// Small tensors for a program's inputs, of the dtypes and sizes that it names.
std::vector<c10::IValue> values_for(const ExportedProgram& program) {
  std::vector<c10::IValue> values;
  for (const Input& input : program.inputs) {
    const auto meta = program.tensors.find(input.value);
    std::vector<int64_t> sizes;
    if (meta != program.tensors.end())
      for (const Size& size : meta->second.sizes)
        sizes.push_back(std::holds_alternative<int64_t>(size) ? std::clamp<int64_t>(std::get<int64_t>(size), 0, 8) : 2);
    sizes.resize(std::min<size_t>(sizes.size(), 5));
    const at::ScalarType dtype = meta == program.tensors.end() ? at::kFloat : meta->second.dtype;
    const at::Tensor tensor = at::ones(sizes, at::TensorOptions(dtype));
    values.emplace_back(tensor.is_floating_point() ? tensor.requires_grad_() : tensor);
  }
  return values;
}

/// Runs a program forwards and, if its outputs have gradients, backwards.
void run(const ExportedProgram& program) try {
  at::set_num_threads(1);
  const Runner runner(program, "input", {});
  const CpuMemoryLimit limit(kMostBytes);
  for (const at::Tensor& output : runner.run(values_for(program)))
    if (output.defined() && output.requires_grad() && output.is_floating_point()) output.sum().backward();
} catch (const UsageError&) {
} catch (const c10::Error&) {
} catch (const std::bad_alloc&) {
}

Json named(const std::string& name) { return {{"name", name}}; }
Json tensor(const std::string& name) { return {{"as_tensor", named(name)}}; }
Json argument(const std::string& name, const Json& value) { return {{"name", name}, {"arg", value}}; }
Json node(const std::string& target, const Json& inputs, const std::string& name) {
  return {{"target", "torch.ops.aten." + target},
          {"inputs", inputs},
          {"outputs", {tensor(name)}},
          {"metadata", Json::object()},
          {"name", name}};
}

/// A program of x [2, 3] and the parameter w [3, 3].
std::string program_of(const Json& nodes, const std::string& output) {
  const auto meta = [](const Json& sizes, bool trains) {
    return Json{{"dtype", 7},
                {"sizes", sizes},
                {"strides", Json::array()},
                {"storage_offset", {{"as_int", 0}}},
                {"requires_grad", trains},
                {"device", {{"type", "cpu"}, {"index", nullptr}}},
                {"layout", 7}};
  };
  const Json two = {{"as_int", 2}}, three = {{"as_int", 3}};
  const Json graph = {{"nodes", nodes},
                      {"tensor_values", {{"w", meta({three, three}, true)}, {"x", meta({two, three}, false)}}}};
  const Json signature = {
      {"input_specs",
       {{{"parameter", {{"arg", named("w")}, {"parameter_name", "w"}}}}, {{"user_input", {{"arg", tensor("x")}}}}}},
      {"output_specs", {{{"user_output", {{"arg", tensor(output)}}}}}}};
  return Json{{"graph_module", {{"graph", graph}, {"signature", signature}, {"module_call_graph", Json::array()}}},
              {"range_constraints", {{"s0", {{"min_val", 2}, {"max_val", nullptr}}}}},
              {"schema_version", {{"major", 8}, {"minor", 20}}},
              {"verifiers", {"TRAINING"}}}
      .dump();
}

/// Takes choices from the bytes of an input.
class Choices {
 public:
  explicit Choices(const std::string& bytes) : bytes_(bytes) {}
  bool is_empty() const { return at_ >= bytes_.size(); }
  size_t below(size_t limit) {
    size_t value = 0;
    for (size_t range = 1; range < limit && at_ < bytes_.size(); range <<= 8)
      value = value << 8 | static_cast<uint8_t>(bytes_[at_++]);
    return limit == 0 ? 0 : value % limit;
  }
  int64_t integer() {
    constexpr int64_t kNumbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    -1,
                                    4,
                                    5,
                                    -2,
                                    7,
                                    8,
                                    16,
                                    100,
                                    -3,
                                    1000,
                                    1 << 20,
                                    int64_t{1} << 31,
                                    int64_t{1} << 40,
                                    INT64_MAX,
                                    INT64_MIN,
                                    -100};
    return kNumbers[below(std::size(kNumbers))];
  }
  double real() {
    constexpr double kNumbers[] = {0,
                                   1,
                                   0.5,
                                   -1,
                                   2,
                                   1e-5,
                                   1e30,
                                   -1e30,
                                   1e300,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
    return kNumbers[below(std::size(kNumbers))];
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

/// All operators that programs may call.
const std::vector<c10::OperatorHandle>& operators() {
  static const std::vector<c10::OperatorHandle> found = [] {
    std::vector<c10::OperatorHandle> list;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
      if (name.name.starts_with("aten::") && is_permitted(std::string_view(name.name).substr(6)))
        if (const auto op = c10::Dispatcher::singleton().findSchema(name)) list.push_back(*op);
    std::ranges::sort(list, {}, [](const c10::OperatorHandle& op) { return c10::toString(op.operator_name()); });
    return list;
  }();
  return found;
}

/// Values of an enum where the operator wants one, and of another one now and then.
Argument enum_for(Choices& choices, EnumValue::Of of) {
  if (choices.below(8) == 0) return choices.integer();
  return EnumValue{static_cast<int64_t>(choices.below(of == EnumValue::Of::Dtype ? 8 : 1)), of};
}

Argument argument_for(const c10::TypePtr& type, Choices& choices, const std::vector<std::string>& values) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (choices.below(3) == 0) return std::monostate();
    return argument_for(optional->getElementType(), choices, values);
  }
  const auto value = [&] { return Name{values[choices.below(values.size())]}; };
  if (const auto list = type->cast<c10::ListType>()) {
    const size_t length = choices.below(5);
    const c10::TypeKind kind = list->getElementType()->kind();
    if (kind == c10::TypeKind::TensorType || kind == c10::TypeKind::OptionalType) {
      std::vector<std::optional<Name>> names;
      for (size_t i = 0; i < length; ++i)
        names.push_back(kind == c10::TypeKind::OptionalType && choices.below(3) == 0 ? std::nullopt
                                                                                     : std::optional(value()));
      return names;
    }
    std::vector<NumberOrName> numbers;
    for (size_t i = 0; i < length; ++i) {
      if (kind == c10::TypeKind::FloatType)
        numbers.emplace_back(choices.real());
      else if (kind == c10::TypeKind::BoolType)
        numbers.emplace_back(choices.below(2) == 1);
      else
        numbers.emplace_back(choices.integer());
    }
    return numbers;
  }
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return value();
    case c10::TypeKind::FloatType:
      return choices.real();
    case c10::TypeKind::BoolType:
      return choices.below(2) == 1;
    case c10::TypeKind::NumberType:
      return choices.below(2) == 1 ? Argument(choices.integer()) : Argument(choices.real());
    case c10::TypeKind::StringType:
      return std::string(choices.below(2) == 1 ? "mean" : "none");
    case c10::TypeKind::DeviceObjType:
      return c10::Device(c10::kCPU);
    case c10::TypeKind::IntType:
      return choices.integer();
    default:
      return std::monostate();
  }
}

}  // namespace

void fuzz_program(const std::string& input) {
  ExportedProgram program;
  try {
    program = parse_program(input, "input");
  } catch (const UsageError&) {
    return;
  }
  run(program);
}

void fuzz_program_operators(const std::string& input) {
  Choices choices(input);
  ExportedProgram program;
  std::vector<std::string> values;
  const at::ScalarType dtypes[] = {at::kFloat, at::kLong, at::kBool, at::kDouble, at::kComplexFloat, at::kBFloat16};
  for (size_t i = 0; i < 4; ++i) {
    const std::string name = "x" + std::to_string(i);
    TensorMeta meta{.dtype = dtypes[i == 0 ? 0 : choices.below(std::size(dtypes))]};
    for (size_t dims = choices.below(5); dims-- > 0;) meta.sizes.emplace_back(static_cast<int64_t>(choices.below(5)));
    program.inputs.push_back({InputKind::UserTensor, name, "", true});
    program.tensors[name] = meta;
    values.push_back(name);
  }
  for (size_t i = 0; i < 4 && !choices.is_empty(); ++i) {
    const c10::OperatorHandle& op = operators()[choices.below(operators().size())];
    const c10::OperatorName& operator_name = op.operator_name();
    Node call;
    call.name = "n" + std::to_string(i);
    call.target = "torch.ops.aten." + operator_name.name.substr(6) + "." +
                  (operator_name.overload_name.empty() ? "default" : operator_name.overload_name);
    for (const c10::Argument& argument : op.schema().arguments()) {
      if (argument.default_value() && choices.below(2) == 0) continue;
      call.inputs.push_back({argument.name(), argument_for(argument.real_type(), choices, values), false});
    }
    for (size_t j = 0; j < op.schema().returns().size(); ++j) {
      const std::string name = call.name + "_" + std::to_string(j);
      const auto list = op.schema().returns()[j].type()->cast<c10::ListType>();
      if (list) {
        std::vector<Name> names;
        for (size_t k = choices.below(4); k-- > 0;) names.push_back({name + "_" + std::to_string(k)});
        for (const Name& each : names) values.push_back(each.text);
        call.outputs.emplace_back(names);
      } else {
        values.push_back(name);
        call.outputs.emplace_back(std::optional<Name>(Name{name}));
      }
    }
    program.nodes.push_back(std::move(call));
    program.outputs = {{OutputKind::User, values.back(), ""}};
  }
  run(program);
}

const std::vector<std::string>& program_seeds() {
  static const std::vector<std::string> seeds = [] {
    const Json x = argument("self", tensor("x")), input = argument("input", tensor("x")),
               w = argument("weight", tensor("w"));
    const Json size = {{"target", "torch.ops.aten.sym_size.int"},
                       {"inputs", {x, argument("dim", {{"as_int", 0}})}},
                       {"outputs", {{{"as_sym_int", {{"as_name", "s"}}}}}},
                       {"metadata", Json::object()},
                       {"name", "s"}};
    const Json twice = {{"target", "_operator.mul"},
                        {"inputs", {argument("", {{"as_sym_int", {{"as_name", "s"}}}}), argument("", {{"as_int", 3}})}},
                        {"outputs", {{{"as_sym_int", {{"as_name", "t"}}}}}},
                        {"metadata", Json::object()},
                        {"name", "t"}};
    const Json shape = {{"as_sym_ints", {{{"as_name", "t"}}, {{"as_int", -1}}}}};
    Json dropout = node(
        "dropout.default",
        {argument("input", tensor("a")), argument("p", {{"as_float", 0.5}}), argument("train", {{"as_bool", true}})},
        "b");
    dropout["metadata"] = {{"nn_module_stack", "L__self__,,Net;L__self___d,d,torch.nn.Dropout"},
                           {"stack_trace", "File\n  x = d(x)"}};
    Json chunk = node("chunk.default", {x, argument("chunks", {{"as_int", 2}})}, "a");
    chunk["outputs"] = {{{"as_tensors", {named("a"), named("b")}}}};
    const Json inner = {{"nodes", {node("relu.default", {argument("self", tensor("i"))}, "o")}},
                        {"inputs", {tensor("i")}},
                        {"outputs", {tensor("o")}},
                        {"tensor_values", Json::object()}};
    Json no_grad = {{"target", "torch.ops.higher_order.wrap_with_set_grad_enabled"},
                    {"inputs",
                     {argument("", {{"as_bool", false}}),
                      argument("", {{"as_graph", {{"name", "g"}, {"graph", inner}}}}), argument("", tensor("x"))}},
                    {"outputs", {tensor("a")}},
                    {"metadata", Json::object()},
                    {"name", "n"}};
    return std::vector<std::string>{
        program_of({node("linear.default", {input, w}, "a"), dropout}, "b"),
        program_of({size, twice, node("reshape.default", {x, argument("shape", shape)}, "a")}, "a"),
        program_of({chunk, node("cat.default", {argument("tensors", {{"as_tensors", {named("a"), named("b")}}})}, "c")},
                   "c"),
        program_of({no_grad, node("mul.Tensor",
                                  {argument("self", tensor("a")), argument("other", {{"as_float", "Infinity"}})}, "b")},
                   "b"),
        program_of({node("zeros.default",
                         {argument("size", {{"as_ints", {int64_t{1} << 60}}}),
                          argument("device", {{"as_device", {{"type", "cpu"}, {"index", nullptr}}}})},
                         "a")},
                   "a")};
  }();
  return seeds;
}

const std::vector<std::string>& program_operators_seeds() {
  static const std::vector<std::string> seeds = [] {
    std::vector<std::string> made;
    for (unsigned i = 0; i < 64; ++i) {
      std::string bytes;
      for (unsigned j = 0; j < 48; ++j) bytes += static_cast<char>((i * 131 + j * j * 7 + i * j) % 256);
      made.push_back(bytes);
    }
    return made;
  }();
  return seeds;
}

}  // namespace levin::testing
