#include <levin/core/state/safetensors.h>
#include <levin/core/state/state_file.h>
#include <torch/torch.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::State;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

State weights() {
  return State::dict({{"net.0.weight", torch::arange(6.0).view({2, 3})}, {"net.0.bias", torch::ones({2})}});
}

State checkpoint() {
  return State::dict({{"epoch", 3},
                      {"global_step", 30},
                      {"state_dict", weights()},
                      {"optimizer_states", State::list({State::dict({{"betas", State(State::Tuple{{0.9, 0.999}})},
                                                                     {"lr", 0.1},
                                                                     {"exp_avg", torch::zeros({2}, torch::kHalf)}})})},
                      {"name", "run \"1\""},
                      {"random", State(State::Bytes{std::string(5000, 'x')})},
                      {"none", State()}});
}

/// A folder with files; what the program prints names them without the folder.
struct CkptFiles {
  CkptFiles() {
    levin::save_state(checkpoint(), folder / "a.ckpt");
    levin::save_state(weights(), folder / "weights.pt");
    levin::save_safetensors(weights(), folder / "weights.safetensors");
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  ProgramRun ckpt(const std::string& command, const std::vector<std::string>& names,
                  const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> arguments = {"ckpt", command};
    for (const std::string& name : names) arguments.push_back(path(name));
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    ProgramRun run = run_program(arguments);
    for (std::string* text : {&run.out, &run.err})
      for (size_t at = 0; (at = text->find(path(""))) != std::string::npos;) text->erase(at, path("").size());
    return run;
  }

  TemporaryFolder folder;
};

std::string without_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

}  // namespace

TEST_CASE("ckpt ls shows tensors and values") {
  const CkptFiles files;
  const ProgramRun run = files.ckpt("ls", {"a.ckpt"});
  CHECK(run.code == 0);
  CHECK(run.out.starts_with("a.ckpt: PyTorch, "));
  CHECK(without_first_line(run.out) ==
        "  epoch                       3\n"
        "  global_step                 30\n"
        "  state_dict/net.0.weight     float32 [2, 3]  24 B\n"
        "  state_dict/net.0.bias       float32 [2]     8 B\n"
        "  optimizer_states/0/betas    [0.9,0.999]\n"
        "  optimizer_states/0/lr       0.1\n"
        "  optimizer_states/0/exp_avg  float16 [2]     4 B\n"
        "  name                        \"run \\\"1\\\"\"\n"
        "  random                      5000 bytes\n"
        "  none                        null\n"
        "3 tensors, 10 elements, 36 B\n");
  CHECK(without_first_line(files.ckpt("ls", {"weights.safetensors"}).out) ==
        "  metadata format  pt\n"
        "  net.0.weight  float32 [2, 3]  24 B\n"
        "  net.0.bias    float32 [2]     8 B\n"
        "2 tensors, 8 elements, 32 B\n");
}

TEST_CASE("ckpt ls --json is one JSON object") {
  const CkptFiles files;
  const auto json = nlohmann::json::parse(files.ckpt("ls", {"a.ckpt"}, {"--json"}).out);
  CHECK(json.at("file") == "a.ckpt");
  CHECK(json.at("format") == "PyTorch");
  CHECK(json.at("bytes") == std::filesystem::file_size(files.path("a.ckpt")));
  CHECK(json.at("total") == nlohmann::json{{"tensors", 3}, {"elements", 10}, {"bytes", 36}});
  CHECK(json.at("values").at("epoch") == 3);
  CHECK(json.at("values").at("optimizer_states/0/betas") == nlohmann::json{0.9, 0.999});
  CHECK(json.at("tensors").at(0) ==
        nlohmann::json{{"path", "state_dict/net.0.weight"}, {"dtype", "float32"}, {"shape", {2, 3}}, {"bytes", 24}});
  CHECK(nlohmann::json::parse(files.ckpt("ls", {"weights.safetensors"}, {"--json"}).out).at("metadata") ==
        nlohmann::json{{"format", "pt"}});
}

TEST_CASE("ckpt diff names the differences, and sets its exit code") {
  const CkptFiles files;
  ProgramRun run = files.ckpt("diff", {"a.ckpt", "a.ckpt"});
  CHECK(run.code == 0);
  CHECK(run.out == "no difference in 10 values\n");
  run = files.ckpt("diff", {"weights.safetensors", "a.ckpt"});
  CHECK(run.code == 0);
  CHECK(run.out == "weights.safetensors holds weights alone: these are compared\nno difference in 2 values\n");

  State other = checkpoint();
  other["epoch"] = 4;
  other["new"] = "x";
  other["random"] = State::Bytes{std::string(5000, 'y')};
  other["state_dict"] = State::dict({{"net.0.weight", torch::arange(6.0).view({2, 3}) + torch::tensor({0.0, 0.0, 0.5})},
                                     {"net.0.bias", torch::ones({3})},
                                     {"net.1.bias", torch::ones({1})}});
  other["optimizer_states"].items()[0]["exp_avg"] = torch::zeros({2});
  levin::save_state(other, files.folder / "b.ckpt");
  run = files.ckpt("diff", {"a.ckpt", "b.ckpt"});
  CHECK(run.code == 1);
  CHECK(run.out ==
        "epoch: 3 and 4\n"
        "state_dict/net.0.weight: 2 of 6 values differ, by up to 0.5\n"
        "state_dict/net.0.bias: shape [2] and [3]\n"
        "optimizer_states/0/exp_avg: dtype float16 and float32\n"
        "random: 5000 bytes and 5000 bytes\n"
        "state_dict/net.1.bias: only in b.ckpt: float32 [1]\n"
        "new: only in b.ckpt: \"x\"\n"
        "7 of 12 values differ\n");
}

TEST_CASE("ckpt diff takes a tolerance, and knows NaN and other dtypes") {
  const CkptFiles files;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto save = [&](const char* name, const at::Tensor& tensor) {
    levin::save_state(State::dict({{"w", tensor}}), files.folder / name);
  };
  save("a.pt", torch::tensor({1.0, nan, inf}));
  save("b.pt", torch::tensor({1.25, nan, inf}));
  save("c.pt", torch::tensor({1.0, 2.0, inf}));
  CHECK(files.ckpt("diff", {"a.pt", "b.pt"}).out == "w: 1 of 3 values differ, by up to 0.25\n1 of 1 values differ\n");
  const ProgramRun near = files.ckpt("diff", {"a.pt", "b.pt"}, {"--tolerance", "0.3"});
  CHECK(near.code == 0);
  CHECK(near.out == "no difference in 1 values beyond 0.3\n");
  CHECK(files.ckpt("diff", {"a.pt", "c.pt"}, {"--tolerance", "9"}).out ==
        "w: 1 of 3 values differ, by up to inf\n1 of 1 values differ\n");
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat8_e4m3fn, at::kUInt16, at::kBool, at::kComplexFloat}) {
    INFO(toString(type));
    save("one.pt", torch::tensor({0.0, 1.0}).to(type));
    save("two.pt", torch::tensor({1.0, 1.0}).to(type));
    CHECK(files.ckpt("diff", {"one.pt", "one.pt"}).code == 0);
    CHECK(contains(files.ckpt("diff", {"one.pt", "two.pt"}).out, "values differ, by up to 1\n"));
  }
}

TEST_CASE("ckpt verify finds what is damaged") {
  const CkptFiles files;
  ProgramRun run = files.ckpt("verify", {"a.ckpt", "weights.safetensors"});
  CHECK(run.code == 0);
  CHECK(run.out ==
        "a.ckpt: ok, 3 tensors, 9 checksums\n"
        "weights.safetensors: ok, 2 tensors; the format has no checksums, its sizes agree\n");
  const std::string whole = read_bytes(files.path("a.ckpt"));
  write_bytes(files.folder / "cut.ckpt", whole.substr(0, whole.size() - 100));
  std::string changed = whole;
  const float one = 1;  // the tensor net.0.bias is the only place with two of them
  const std::string ones =
      std::string(reinterpret_cast<const char*>(&one), 4) + std::string(reinterpret_cast<const char*>(&one), 4);
  changed[changed.find(ones)] ^= 1;
  write_bytes(files.folder / "changed.ckpt", changed);
  run = files.ckpt("verify", {"cut.ckpt", "changed.ckpt", "weights.pt", "none.ckpt"});
  CHECK(run.code == 1);
  CHECK(contains(run.out, "cut.ckpt: damaged"));
  CHECK(contains(run.out, "changed.ckpt: damaged"));
  CHECK(contains(run.out, "weights.pt: ok, 2 tensors, "));
  CHECK(contains(run.out, "none.ckpt: there is no such file\n"));
  CHECK(files.ckpt("ls", {"changed.ckpt"}).code == 0);
  CHECK(files.ckpt("diff", {"a.ckpt", "changed.ckpt"}).code == 1);
  CHECK(files.ckpt("convert", {"changed.ckpt", "out.pt"}).code == 2);
}

TEST_CASE("ckpt convert goes both ways, strips and changes dtypes") {
  const CkptFiles files;
  ProgramRun run = files.ckpt("convert", {"a.ckpt", "out.safetensors"}, {"--dtype", "bf16", "--prefix", "net.0."});
  CHECK(run.code == 0);
  CHECK(run.out ==
        "out.safetensors: 2 tensors, 16 B\nleft out: epoch, global_step, optimizer_states, name, random, none\n");
  const State back = levin::load_safetensors(files.folder / "out.safetensors");
  CHECK(back.at("weight").to_tensor().scalar_type() == at::kBFloat16);
  CHECK(torch::equal(back.at("weight").to_tensor().to(at::kFloat), torch::arange(6.0).view({2, 3})));

  CHECK(files.ckpt("convert", {"out.safetensors", "out.pt"}, {"--dtype", "fp32"}).out == "out.pt: 2 tensors, 32 B\n");
  CHECK(torch::equal(levin::load_state(files.folder / "out.pt").at("bias").to_tensor(), torch::ones({2})));
  CHECK(files.ckpt("convert", {"a.ckpt", "slim.ckpt"}, {"--weights-only"}).code == 0);
  CHECK(files.ckpt("diff", {"slim.ckpt", "weights.pt"}).code == 0);
  CHECK(files.ckpt("convert", {"a.ckpt", "copy.ckpt"}).code == 0);
  CHECK(files.ckpt("diff", {"a.ckpt", "copy.ckpt"}).code == 0);
  CHECK(files.ckpt("convert", {"weights.safetensors", "weights.safetensors"}, {"--dtype", "fp16"}).code == 0);

  run = files.ckpt("convert", {"a.ckpt", "half.ckpt"}, {"--dtype", "fp16"});
  CHECK(run.code == 2);
  CHECK(run.err ==
        "levin: error: a.ckpt: a checkpoint, whose other parts go with its weights as they are; add "
        "--weights-only\n");
  CHECK(files.ckpt("convert", {"a.ckpt", "out.txt"}).err ==
        "levin: error: out.txt: the end of the name tells the format: .pt, .pth, .ckpt, .bin or .safetensors\n");
  CHECK(files.ckpt("convert", {"weights.pt", "out.pt"}, {"--prefix", "body."}).err ==
        "levin: error: weights.pt: no name of its weights begins with body.; the first is net.0.weight\n");
}

TEST_CASE("ckpt shows its usage") {
  const auto error = [](const std::vector<std::string>& arguments) {
    const ProgramRun run = run_program(arguments);
    CHECK(run.code == 2);
    return run.err;
  };
  CHECK(error({"ckpt"}) == "levin: error: levin ckpt: expected one of ls, diff, verify, convert\n");
  CHECK(error({"ckpt", "list"}) ==
        "levin: error: levin ckpt: expected one of ls, diff, verify, convert, got list (did you mean ls?)\n");
  CHECK(error({"ckpt", "ls"}) == "levin: error: levin ckpt ls: expected FILE; `levin ckpt ls --help` says more\n");
  CHECK(contains(error({"ckpt", "convert", "a", "b", "--dtype", "int8"}),
                 "--dtype: expected one of fp16, bf16, fp32, got \"int8\""));
  CHECK(contains(error({"ckpt", "diff", "a", "b", "--tolerance", "-1"}), "--tolerance: expected at least 0, got -1"));
  CHECK(contains(error({"ckpt", "ls", "a", "b"}), "levin ckpt ls: expected FILE, got a b"));
  CHECK(error({"ckpt", "ls", "none.ckpt"}) == "levin: error: none.ckpt: there is no such file\n");
  CHECK(contains(run_program({"ckpt", "--help"}).out, "convert IN OUT"));
  CHECK(contains(run_program({"--help"}).out, "ckpt diff"));
}
