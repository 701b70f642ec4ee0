// Programs and archives that Python would not write, made without Python.
#include <levin/core/state/state_file.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/program/program_json.h>
#include <levin/modules/program/runner.h>
#include <levin/modules/program_module.h>
#include <levin/trainer/trainer.h>
#include <torch/types.h>

#include "tests/catch.h"
#include "tests/core/state/zip_builder.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/modules/program_builder.h"
#include "tests/temporary_folder.h"

namespace {

using namespace program_builder;
using levin::UsageError;

std::string error_of_parsing(const ProgramJson& program) {
  return error_text<UsageError>([&] { levin::program::parse_program(program.dump(), "net.pt2"); });
}

/// The error of planning or running; LibTorch's own is given without its stack.
std::string error_of_running(const ProgramJson& program, const at::Tensor& x = at::ones({2, 3})) {
  try {
    const levin::program::ExportedProgram parsed = levin::program::parse_program(program.dump(), "net.pt2");
    const levin::program::Runner runner(parsed, "net.pt2", {});
    runner.run({at::ones({3, 3}), x});
  } catch (const UsageError& error) {
    return error.what();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

const ProgramJson kX = argument("self", tensor("x")), kW = argument("mat2", tensor("w"));

ProgramJson one(const std::string& target, const ProgramJson& inputs) {
  return program_of({node(target, inputs, "a")}, "a");
}

ProgramJson integers(const std::vector<int64_t>& numbers) { return {{"as_ints", numbers}}; }

/// An archive of a program, as torch.export.save writes it.
std::vector<BuiltRecord> archive(const ProgramJson& program) {
  const ProgramJson weights = {{"w",
                                {{"path_name", "weight_0"},
                                 {"is_param", true},
                                 {"use_pickle", false},
                                 {"tensor_meta", meta({3, 3}, {3, 1}, true)}}}};
  return {{.name = "net/archive_format", .contents = "pt2"},
          {.name = "net/models/model.json", .contents = program.dump()},
          {.name = "net/data/weights/model_weights_config.json", .contents = ProgramJson{{"config", weights}}.dump()},
          {.name = "net/data/weights/weight_0", .contents = std::string(36, '\0')}};
}

std::string error_of_opening(const std::vector<BuiltRecord>& records) {
  const TemporaryFolder folder;
  const std::string file = (folder / "net.pt2").string();
  write_bytes(file, ZipBuilder{records}.build());
  return error_text<UsageError>([&] { levin::ProgramModule module({.program = file, .loss = "mse_loss"}); });
}

}  // namespace

TEST_CASE("a program of another schema names the PyTorch that wrote it, and the one to use") {
  ProgramJson program = one("mm.default", {kX, kW});
  CHECK(error_of_parsing(program) == "no error");
  program["schema_version"]["major"] = 9;
  program["torch_version"] = "9.1.0";
  const std::string text = error_of_parsing(program);
  CHECK(contains(text, "net.pt2: PyTorch 9.1.0 wrote it in version 9"));
  CHECK(contains(text, "levin reads version 8"));
  CHECK(contains(text, "export it with the PyTorch that levin is built with (2."));
  program["torch_version"] = ProgramJson();
  CHECK(contains(error_of_parsing(program), "damaged, or not a program"));
}

TEST_CASE("a program that was decomposed for inference is refused with what to save instead") {
  ProgramJson program = one("mm.default", {kX, kW});
  program["verifiers"] = {"ATEN"};
  CHECK(contains(error_of_parsing(program), "decomposed for inference"));
  CHECK(contains(error_of_running(one("native_layer_norm.default", {kX})),
                 "save what torch.export.export(model, example_inputs) returns"));
}

TEST_CASE("operators that are unknown, that open files or that nobody checks are refused by name") {
  CHECK(contains(error_of_running(one("no_such.default", {kX})), "torch.ops.aten.no_such.default is not permitted"));
  CHECK(contains(error_of_running(one("mm.no_such", {kX, kW})),
                 "this LibTorch has no operator torch.ops.aten.mm.no_such"));
  CHECK(contains(error_of_running(one("from_file.default", {kX})), "is not permitted"));
  CHECK(contains(error_of_running(one("as_strided_.default", {kX})), "does not check its arguments"));
  CHECK(contains(error_of_running(one("mm.out", {kX, kW, argument("out", tensor("w"))})),
                 "write the model without out="));
  ProgramJson own = one("mm.default", {kX, kW});
  own["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.mine.op.default";
  CHECK(contains(error_of_running(own),
                 "write the model without it, by PyTorch's own operators: one that was written in Python "
                 "(torch.library, Triton) does not run here"));
  ProgramJson program = one("mm.default", {kX, kW});
  program["graph_module"]["graph"]["nodes"][0]["target"] = "builtins.exec";
  CHECK(contains(error_of_running(program), "'builtins.exec' is no operator of PyTorch"));
}

TEST_CASE("arguments of wrong types, missing and unknown ones are refused by name") {
  CHECK(contains(error_of_running(one("mm.default", {kX})), "the argument 'mat2' is missing"));
  CHECK(
      contains(error_of_running(one("mm.default", {kX, kW, argument("beta", {{"as_int", 1}})})), "no argument 'beta'"));
  CHECK(contains(error_of_running(one("mm.default", {kX, argument("mat2", {{"as_string", "w"}})})), "argument 'mat2'"));
  CHECK(contains(error_of_running(one("softmax.int", {kX, argument("dim", {{"as_float", 0.5}})})), "argument 'dim'"));
  CHECK(contains(error_of_running(one("softmax.int", {kX, argument("dim", tensor("w"))})), "node 'a'"));
  CHECK(contains(error_of_running(one("to.dtype", {kX, argument("dtype", {{"as_int", 300}})})), "argument 'dtype'"));
  CHECK(contains(error_of_running(one("mm.default", {kX, kX})), "given twice"));
}

TEST_CASE("a program that uses a value before it is made, in a loop too, is refused") {
  const ProgramJson loop = {node("relu.default", {argument("self", tensor("b"))}, "a"),
                            node("relu.default", {argument("self", tensor("a"))}, "b")};
  CHECK(contains(error_of_running(program_of(loop, "b")), "the value 'b' is used before it is made"));
  CHECK(contains(error_of_running(one("relu.default", {argument("self", tensor("a"))})), "used before it is made"));
  const ProgramJson twice = {node("relu.default", {kX}, "a"), node("relu.default", {kX}, "a")};
  CHECK(contains(error_of_running(program_of(twice, "a")), "the value 'a' is made twice"));
  CHECK(contains(error_of_running(program_of(ProgramJson::array(), "y")), "its outputs: the value 'y'"));
}

TEST_CASE("a program that asks for an exabyte ends with an error that names the node") {
  const ProgramJson device = argument("device", {{"as_device", {{"type", "cpu"}, {"index", nullptr}}}});
  const std::string text =
      error_of_running(one("zeros.default", {argument("size", integers({int64_t{1} << 58})), device}));
  CHECK(contains(text, "net.pt2: node 'a'"));
  CHECK(contains(text, "memory"));
  CHECK(
      contains(error_of_running(one("expand.default", {kX, argument("size", integers({INT64_MAX, INT64_MAX, 2, 3}))})),
               "node 'a'"));
}

TEST_CASE("operators that do not check their arguments are checked") {
  const auto number = [](const char* name, int64_t value) { return argument(name, {{"as_int", value}}); };
  const auto truth = [](const char* name, bool value) { return argument(name, {{"as_bool", value}}); };
  CHECK(
      contains(error_of_running(one("_weight_norm.default", {argument("v", tensor("x")), argument("g", tensor("w"))})),
               "g must have the size of v"));
  CHECK(contains(error_of_running(one("pdist.default", {kX}), at::ones({0, 3})), "must be a matrix that has elements"));
  CHECK(contains(error_of_running(one("lift_fresh.default", {kX}), at::ones({2, 3}).requires_grad_()),
                 "must be a constant"));
  ProgramJson gru = node("gru.input",
                         {argument("input", tensor("c")), argument("hx", tensor("c")),
                          argument("params", {{"as_tensors", {named("w"), named("w")}}}), truth("has_biases", false),
                          number("num_layers", 3), argument("dropout", {{"as_float", 0.0}}), truth("train", false),
                          truth("bidirectional", false), truth("batch_first", false)},
                         "a");
  gru["outputs"].push_back(tensor("h"));
  const ProgramJson cube = node("unsqueeze.default", {kX, number("dim", 0)}, "c");
  CHECK(contains(error_of_running(program_of({cube, gru}, "a")), "a state must be [num_layers * directions"));
  const ProgramJson no_heads = node(
      "slice.Tensor", {argument("self", tensor("c")), number("dim", 0), number("start", 0), number("end", 0)}, "n");
  const ProgramJson attention = node("scaled_dot_product_attention.default",
                                     {argument("query", tensor("c")), argument("key", tensor("n")),
                                      argument("value", tensor("c")), truth("enable_gqa", true)},
                                     "a");
  CHECK(contains(error_of_running(program_of({cube, no_heads, attention}, "a")), "must have heads"));
  gru["inputs"][4] = number("num_layers", 1);
  CHECK(contains(error_of_running(program_of({cube, gru}, "a")), "params must have the sizes"));
  gru["inputs"][2] = argument("params", {{"as_tensors", {named("w")}}});
  CHECK(contains(error_of_running(program_of({cube, gru}, "a")), "params must be the weights and biases"));
  gru["inputs"][4] = number("num_layers", -1);
  CHECK(contains(error_of_running(program_of({cube, gru}, "a")), "num_layers must be at least 1"));
}

TEST_CASE("an archive without its weights, with other ones, or with a model nested too deeply is refused") {
  const ProgramJson program = one("mm.default", {kX, kW});
  CHECK(error_of_opening(archive(program)) == "no error");
  std::vector<BuiltRecord> records = archive(program);
  records.pop_back();
  CHECK(contains(error_of_opening(records),
                 "the file data/weights/weight_0 with 'w' is missing; save the program again"));
  records.pop_back();
  CHECK(contains(error_of_opening(records), "its weights are missing"));
  records = archive(program);
  records.back().contents.resize(20);
  CHECK(contains(error_of_opening(records), "'w'"));
  records = archive(program);
  records[2].contents = R"({"config": {}})";
  CHECK(contains(error_of_opening(records), "has no tensor for 'w'"));
  records = archive(program);
  const std::string deep(100000, '[');
  records[1].contents = R"({"verifiers": )" + deep + "}";
  CHECK(contains(error_of_opening(records), "nested too deeply"));
  ProgramJson with_structure = program;
  const ProgramJson signature = {{"in_spec", "[1, " + deep}, {"out_spec", deep}};
  with_structure["graph_module"]["module_call_graph"] = ProgramJson::array({{{"fqn", ""}, {"signature", signature}}});
  CHECK(error_of_opening(archive(with_structure)) == "no error");  // its inputs have the names of the graph
}

TEST_CASE("weights of another shape than the graph's, or that show few bytes as many, are refused by name") {
  const ProgramJson program = one("mm.default", {kX, kW});
  const auto with_weight = [&](const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    std::vector<BuiltRecord> records = archive(program);
    ProgramJson config = ProgramJson::parse(records[2].contents);
    config["config"]["w"]["tensor_meta"] = meta(sizes, strides, true);
    records[2].contents = config.dump();
    return error_of_opening(records);
  };
  CHECK(contains(with_weight({3, 2}, {2, 1}), "'w' is [3, 2] among the weights, and [3, 3] in the graph"));
  ProgramJson large = program;
  large["graph_module"]["graph"]["tensor_values"]["w"] = meta({3, 1 << 24}, {0, 0}, true);
  std::vector<BuiltRecord> records = archive(large);
  ProgramJson config = ProgramJson::parse(records[2].contents);
  config["config"]["w"]["tensor_meta"] = meta({3, 1 << 24}, {0, 0}, true);
  records[2].contents = config.dump();
  CHECK(contains(error_of_opening(records), "'w' shows its 36 bytes as at least"));
}

TEST_CASE("embeddings with a largest norm run") {
  const auto number = [](const char* name, double value) { return argument(name, {{"as_float", value}}); };
  const ProgramJson renorm =
      one("embedding_renorm_.default", {argument("self", tensor("w")), argument("indices", tensor("x")),
                                        number("max_norm", 1.0), number("norm_type", 2.0)});
  CHECK(error_of_running(renorm, at::zeros({2}, at::kLong)) == "no error");
}

TEST_CASE("a program that makes its loss takes a batch without a target") {
  const TemporaryFolder folder;
  const std::string file = (folder / "net.pt2").string();
  const ProgramJson product = node("mm.default", {kX, kW}, "p"), kP = argument("self", tensor("p"));
  ProgramJson program =
      program_of({product, node("mse_loss.default", {kP, argument("target", tensor("labels"))}, "a")}, "a");
  ProgramJson& graph = program["graph_module"];
  graph["graph"]["tensor_values"]["labels"] = meta({2, 3}, {3, 1}, false);
  graph["graph"]["tensor_values"]["a"] = meta({}, {}, true);
  graph["signature"]["input_specs"].push_back({{"user_input", {{"arg", tensor("labels")}}}});
  write_bytes(file, ZipBuilder{archive(program)}.build());
  levin::ProgramModule module({.program = file, .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.1}}});
  levin::Batch batch;
  batch.set("x", at::ones({2, 3}));
  batch.set("labels", at::ones({2, 3}));
  levin::TrainerOptions options;
  options.barebones = true;
  options.max_epochs = 1;
  options.accelerator = "cpu";
  options.default_root_dir = folder.path().string();
  levin::Trainer(options).fit(module, std::vector<levin::Batch>{batch}, std::vector<levin::Batch>{batch});
  // The gradient of mean((x w - 1)^2) at w = 0 is -2 / 6 * 2 for each weight.
  CHECK(at::allclose(module.parameters()[0], at::full({3, 3}, 0.1 * 2 / 3)));
}

TEST_CASE("of the tied weights of a program a file may have one name alone") {
  ProgramJson program =
      program_of({node("mm.default", {kX, kW}, "p"),
                  node("mm.default", {argument("self", tensor("p")), argument("mat2", tensor("v"))}, "a")},
                 "a");
  ProgramJson& graph = program["graph_module"];
  graph["graph"]["tensor_values"]["v"] = meta({3, 3}, {3, 1}, true);
  ProgramJson& inputs = graph["signature"]["input_specs"];
  inputs.push_back({{"parameter", {{"arg", named("v")}, {"parameter_name", "head.v"}}}});
  std::swap(inputs[1], inputs[2]);
  std::vector<BuiltRecord> records = archive(program);
  ProgramJson config = ProgramJson::parse(records[2].contents);
  config["config"]["head.v"] = config["config"]["w"];
  records[2].contents = config.dump();
  const TemporaryFolder folder;
  const std::string file = (folder / "net.pt2").string(), weights = (folder / "weights.pt").string();
  write_bytes(file, ZipBuilder{records}.build());
  for (const char* name : {"w", "head.v"}) {
    levin::State one = levin::State::dict();
    one.to_dict().emplace_back(name, levin::State(at::full({3, 3}, 2.0)));
    levin::save_state(one, weights);
    levin::ProgramModule module({.program = file, .loss = "mse_loss", .initial = {.weights = weights}});
    CHECK(module.named_parameters()["w"].is_same(module.named_parameters()["head.v"]));
    CHECK(module.named_parameters()["w"].eq(2).all().item<bool>());
  }
}

TEST_CASE("a compressed weight that unpacks to more than its tensor needs is refused before it is unpacked") {
  const ProgramJson program = one("mm.default", {kX, kW});
  std::vector<BuiltRecord> records = archive(program);
  for (BuiltRecord& record : records) record.is_deflated = true;
  CHECK(error_of_opening(records) == "no error");
  // The checksum is wrong: who unpacks the weight, says that.
  records[3].contents = std::string(3 << 20, '\0');
  records[3].crc = records[3].local_crc = 1;
  const std::string text = error_of_opening(records);
  CHECK(contains(text, "net/data/weights/weight_0 unpacks to 3145728 bytes, of which its tensors need 36"));
  CHECK(text.find("net.pt2") == text.rfind("net.pt2"));
  records = archive(program);
  records.push_back({.name = "net/extra/zeros", .contents = std::string(65 << 20, '\0'), .is_deflated = true});
  CHECK(contains(error_of_opening(records), "net/extra/zeros unpacks to 68157440 bytes, and a file may grow by 64 MB"));
}
