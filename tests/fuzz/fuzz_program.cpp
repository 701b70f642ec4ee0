#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <levin/core/system/error.h>
#include <levin/modules/program/blocks.h>
#include <levin/modules/program/input_check.h>
#include <levin/modules/program/input_structure.h>
#include <levin/modules/program/operators.h>
#include <levin/modules/program/program_json.h>
#include <levin/modules/program/runner.h>
#include <levin/trainer/tuner/cpu_memory_limit.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <stdexcept>

#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/work_limit.h"
#include "tests/modules/program_builder.h"

namespace levin::testing {
namespace {

using namespace program;
using namespace program_builder;

constexpr size_t kMostBytes = 2 << 20;  ///< that operators may allocate at a time

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
void run_once(const Runner& runner, const std::vector<c10::IValue>& values) try {
  at::set_num_threads(1);
  const CpuMemoryLimit limit(kMostBytes);
  const WorkLimit work;
  for (const at::Tensor& output : runner.run(values))
    if (output.defined() && output.requires_grad() && output.is_floating_point()) output.sum().backward();
} catch (const std::exception&) {  // an error of the program
}

/// The same in both modes, and once more if backward can compute parts again.
void run(const ExportedProgram& program, const std::vector<c10::IValue>& values) try {
  Runner runner(program, "input", {});
  static torch::nn::Module part;
  runner.follow_modes([](const std::string& /*path*/) { return &part; });
  const bool has_modes = std::ranges::any_of(
      runner.plan().instructions, [](const Instruction& instruction) { return instruction.mode.has_value(); });
  for (const bool training : {false, true}) {
    part.train(training);
    if (training || has_modes) run_once(runner, values);
  }
  std::vector<Stretch> stretches;
  for (auto& [path, stretch] : find_blocks(program, runner.plan())) stretches.push_back(std::move(stretch));
  if (stretches.empty()) return;
  std::ranges::sort(stretches, {}, &Stretch::begin);
  runner.set_recomputed(std::move(stretches));
  run_once(runner, values);
} catch (const UsageError&) {
}

/// Compares the values with what the program says of its inputs, as a module does before it runs.
void check_inputs(const ExportedProgram& program, const std::vector<c10::IValue>& values) try {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (program.inputs[i].kind == InputKind::UserTensor) tensors.push_back(values[i].toTensor());
  std::vector<std::string> names = input_paths(program.in_spec, program.argument_names);
  output_paths(program.out_spec);
  names.resize(tensors.size());
  InputCheck(program, "input", names)(tensors);
} catch (const UsageError&) {
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
                                    1 << 16,
                                    int64_t{1} << 31,
                                    int64_t{1} << 40,
                                    INT64_MAX,
                                    INT64_MIN,
                                    -100};
    return kNumbers[below(std::size(kNumbers))];
  }
  const char* text() {
    constexpr const char* kTexts[] = {"mean",     "none",      "sum",   "amax",       "prod",     "reflect",
                                      "constant", "fro",       "trunc", "nuc",        "floor",    "tanh",
                                      "gelsd",    "ij,jk->ik", "ii->",  "...i->i...", "circular", "L"};
    return kTexts[below(std::size(kTexts))];
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

std::string target_of(const c10::OperatorName& name) {
  return "torch.ops.aten." + name.name.substr(6) + "." + (name.overload_name.empty() ? "default" : name.overload_name);
}

bool may_be_called(const c10::OperatorName& name) try {
  if (!name.name.starts_with("aten::")) return false;
  find_operator(target_of(name), {});
  return true;
} catch (const UsageError&) {
  return false;
}

/// All operators that programs may call.
const std::vector<c10::OperatorHandle>& operators() {
  static const std::vector<c10::OperatorHandle> found = [] {
    std::vector<c10::OperatorHandle> list;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
      if (may_be_called(name))
        if (const auto op = c10::Dispatcher::singleton().findSchema(name)) list.push_back(*op);
    std::ranges::sort(list, {}, [](const c10::OperatorHandle& op) { return c10::toString(op.operator_name()); });
    return list;
  }();
  return found;
}

/// Values of an enum where the operator wants one, and of another one now and then.
Argument enum_for(Choices& choices, EnumValue::Of of) {
  if (choices.below(8) == 0) return choices.integer();
  // Those that the reader lets through.
  constexpr at::ScalarType kDtypes[] = {at::kFloat,    at::kLong,        at::kBool,         at::kDouble,
                                        at::kByte,     at::kChar,        at::kShort,        at::kInt,
                                        at::kHalf,     at::kComplexHalf, at::kComplexFloat, at::kComplexDouble,
                                        at::kBFloat16, at::kUInt16,      at::kUInt32,       at::kUInt64};
  if (of == EnumValue::Of::Dtype)
    return EnumValue{static_cast<int64_t>(kDtypes[choices.below(std::size(kDtypes))]), of};
  constexpr size_t kMemoryFormats = 4;
  return EnumValue{static_cast<int64_t>(choices.below(of == EnumValue::Of::MemoryFormat ? kMemoryFormats : 1)), of};
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
      if (choices.below(16) == 0) return choices.below(2) == 1 ? Argument(choices.integer()) : choices.real();
      return value();
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
      return choices.real();
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
      return choices.below(2) == 1;
    case c10::TypeKind::ScalarTypeType:
      return enum_for(choices, EnumValue::Of::Dtype);
    case c10::TypeKind::LayoutType:
      return enum_for(choices, EnumValue::Of::Layout);
    case c10::TypeKind::MemoryFormatType:
      return enum_for(choices, EnumValue::Of::MemoryFormat);
    case c10::TypeKind::NumberType:
      return choices.below(2) == 1 ? Argument(choices.integer()) : Argument(choices.real());
    case c10::TypeKind::StringType:
      return std::string(choices.text());
    case c10::TypeKind::DeviceObjType:
      return c10::Device(c10::kCPU);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      if (choices.below(16) == 0) return value();  // a number that a node made, or none
      return choices.integer();
    default:
      return std::monostate();
  }
}

/// A tensor of ones, of small or large numbers, or of what is no number.
at::Tensor tensor_for(Choices& choices, const TensorMeta& meta) {
  std::vector<int64_t> sizes;
  for (const Size& size : meta.sizes) sizes.push_back(std::get<int64_t>(size));
  at::Tensor tensor = at::ones(sizes, at::TensorOptions(meta.dtype));
  switch (choices.below(6)) {
    case 0:
      tensor = at::arange(tensor.numel()).sub(2).to(meta.dtype).view(sizes);
      break;
    case 1:
      tensor = at::arange(tensor.numel()).remainder(3).to(meta.dtype).view(sizes);
      break;
    case 2:
      if (meta.dtype == at::kLong) tensor.fill_(choices.integer());
      if (tensor.is_floating_point()) tensor.copy_(at::scalar_tensor(choices.real(), at::kDouble));
      break;
    default:
      break;
  }
  return tensor.is_floating_point() ? tensor.requires_grad_() : tensor;
}

/// A program of two parts, whose activations backward can compute again, with a size that may change.
ProgramJson program_of_blocks() {
  ProgramJson nodes = ProgramJson::array();
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {
    const std::string name = "n" + std::to_string(i), part = std::to_string(i / 4);
    nodes.push_back(node("linear.default", {argument("input", tensor(last)), argument("weight", tensor("w"))}, name));
    nodes.back()["metadata"] = {{"nn_module_stack", "L__self__,,Net;L__self___" + part + "," + part + ",Part"}};
    last = name;
  }
  ProgramJson program = program_of(nodes, last);
  ProgramJson& module = program["graph_module"];
  module["graph"]["tensor_values"]["x"]["sizes"][0] = {{"as_expr", {{"expr_str", "Mul(Integer(2), Symbol('s0'))"}}}};
  const ProgramJson leaf = {{"type", nullptr}, {"context", nullptr}, {"children_spec", ProgramJson::array()}};
  const auto structure = [](const char* type, const ProgramJson& context, const ProgramJson& children) {
    return ProgramJson{{"type", type},
                       {"context", context.is_null() ? context : ProgramJson(context.dump())},
                       {"children_spec", children}};
  };
  const ProgramJson arguments = structure("builtins.tuple", nullptr, ProgramJson::array({leaf})),
                    none = structure("builtins.dict", ProgramJson::array(), ProgramJson::array());
  const ProgramJson in_spec = {1, structure("builtins.tuple", nullptr, {arguments, none})}, out_spec = {1, leaf};
  const ProgramJson signature = {
      {"in_spec", in_spec.dump()}, {"out_spec", out_spec.dump()}, {"forward_arg_names", {"x"}}};
  module["module_call_graph"] = {{{"fqn", ""}, {"signature", signature}}, {{"fqn", "0"}}, {{"fqn", "1"}}};
  return program;
}

}  // namespace

void fuzz_program(const std::string& input) {
  ExportedProgram program;
  try {
    program = parse_program(input, "input");
  } catch (const UsageError&) {
    return;
  }
  const std::vector<c10::IValue> values = values_for(program);
  check_inputs(program, values);
  run(program, values);
}

void fuzz_program_operators(const std::string& input) {
  Choices choices(input);
  ExportedProgram program;
  std::vector<std::string> values;
  std::vector<c10::IValue> tensors;
  const at::ScalarType dtypes[] = {at::kFloat, at::kLong, at::kBool, at::kDouble, at::kComplexFloat, at::kBFloat16};
  for (size_t i = 0; i < 4; ++i) {
    const std::string name = "x" + std::to_string(i);
    TensorMeta meta{.dtype = dtypes[i == 0 ? 0 : choices.below(std::size(dtypes))]};
    for (size_t dims = choices.below(5); dims-- > 0;) meta.sizes.emplace_back(static_cast<int64_t>(choices.below(5)));
    program.inputs.push_back({InputKind::UserTensor, name, "", true});
    program.tensors[name] = meta;
    tensors.emplace_back(tensor_for(choices, meta));
    values.push_back(name);
  }
  for (size_t i = 0; i < 4 && !choices.is_empty(); ++i) {
    const c10::OperatorHandle& op = operators()[choices.below(operators().size())];
    Node call;
    call.name = "n" + std::to_string(i);
    call.target = target_of(op.operator_name());
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
  run(program, tensors);
}

const std::vector<std::string>& program_seeds() {
  static const std::vector<std::string> seeds = [] {
    const ProgramJson x = argument("self", tensor("x")), input = argument("input", tensor("x")),
                      w = argument("weight", tensor("w"));
    const ProgramJson size = {{"target", "torch.ops.aten.sym_size.int"},
                              {"inputs", {x, argument("dim", {{"as_int", 0}})}},
                              {"outputs", {{{"as_sym_int", {{"as_name", "s"}}}}}},
                              {"metadata", ProgramJson::object()},
                              {"name", "s"}};
    const ProgramJson twice = {
        {"target", "_operator.mul"},
        {"inputs", {argument("", {{"as_sym_int", {{"as_name", "s"}}}}), argument("", {{"as_int", 3}})}},
        {"outputs", {{{"as_sym_int", {{"as_name", "t"}}}}}},
        {"metadata", ProgramJson::object()},
        {"name", "t"}};
    const ProgramJson shape = {{"as_sym_ints", {{{"as_name", "t"}}, {{"as_int", -1}}}}};
    ProgramJson dropout = node(
        "dropout.default",
        {argument("input", tensor("a")), argument("p", {{"as_float", 0.5}}), argument("train", {{"as_bool", true}})},
        "b");
    dropout["metadata"] = {{"nn_module_stack", "L__self__,,Net;L__self___d,d,torch.nn.Dropout"},
                           {"stack_trace", "File\n  x = d(x)"}};
    ProgramJson chunk = node("chunk.default", {x, argument("chunks", {{"as_int", 2}})}, "a");
    chunk["outputs"] = {{{"as_tensors", {named("a"), named("b")}}}};
    const ProgramJson inner = {{"nodes", {node("relu.default", {argument("self", tensor("i"))}, "o")}},
                               {"inputs", {tensor("i")}},
                               {"outputs", {tensor("o")}},
                               {"tensor_values", ProgramJson::object()}};
    ProgramJson no_grad = {
        {"target", "torch.ops.higher_order.wrap_with_set_grad_enabled"},
        {"inputs",
         {argument("", {{"as_bool", false}}), argument("", {{"as_graph", {{"name", "g"}, {"graph", inner}}}}),
          argument("", tensor("x"))}},
        {"outputs", {tensor("a")}},
        {"metadata", ProgramJson::object()},
        {"name", "n"}};
    std::vector<std::string> texts = {program_of_blocks().dump()};
    for (const ProgramJson& program :
         {program_of({node("linear.default", {input, w}, "a"), dropout}, "b"),
          program_of({size, twice, node("reshape.default", {x, argument("shape", shape)}, "a")}, "a"),
          program_of(
              {chunk, node("cat.default", {argument("tensors", {{"as_tensors", {named("a"), named("b")}}})}, "c")},
              "c"),
          program_of(
              {no_grad,
               node("mul.Tensor", {argument("self", tensor("a")), argument("other", {{"as_float", "Infinity"}})}, "b")},
              "b"),
          program_of({node("zeros.default",
                           {argument("size", {{"as_ints", {int64_t{1} << 60}}}),
                            argument("device", {{"as_device", {{"type", "cpu"}, {"index", nullptr}}}})},
                           "a")},
                     "a")})
      texts.push_back(program.dump());
    return texts;
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
