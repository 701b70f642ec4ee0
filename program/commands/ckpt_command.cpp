#include <levin/core/system/error.h>
#include <levin/program/commands/ckpt.h>
#include <levin/program/commands/commands.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

namespace levin::cli {
namespace {

constexpr const char* kCkptHelp =
    R"(levin ckpt: looks at checkpoints and files of weights, of levin, PyTorch Lightning, torch.save and safetensors

  ls FILE [--json]        Print what a file holds: tensors with shape, dtype and size, and all other values
  diff A B [--tolerance NUMBER]
                          Print what differs: names, shapes, dtypes, and values further apart than NUMBER [0].
                          Where one file holds weights alone, the other's weights are compared. Exit code 1 where
                          anything differs, 0 where nothing does
  verify FILE...          Read files whole and compare their checksums. Exit code 1 where one is damaged
  convert IN OUT          Write IN as OUT: .safetensors, or .pt, .pth, .ckpt, .bin for PyTorch
    --weights-only          Of a checkpoint, keep the weights alone (a safetensors file holds nothing else)
    --dtype fp16|bf16|fp32  What floating-point weights become
    --prefix TEXT           Keep only the weights whose names begin so, without it
    --shards N              Write a sharded checkpoint: OUT and N parts beside it. Without it, a sharded one becomes
                            one file
)";

constexpr const char* kCkptSubcommands = "ls, diff, verify, convert";

struct CkptArguments {
  std::string first = {}, second = {};
  std::vector<std::string> files = {};
  bool json = false;
  double tolerance = 0;
  ConvertOptions convert = {};
};

void declare_subcommand(CLI::App& app, const std::string& name, CkptArguments& into) {
  if (name == "ls") {
    app.add_option("FILE", into.first)->required();
    app.add_flag("--json", into.json);
  } else if (name == "diff") {
    app.add_option("A", into.first)->required();
    app.add_option("B", into.second)->required();
    app.add_option("--tolerance", into.tolerance)->check(CLI::NonNegativeNumber);
  } else if (name == "verify") {
    app.add_option("FILE", into.files)->required();
  } else {
    app.add_option("IN", into.first)->required();
    app.add_option("OUT", into.second)->required();
    app.add_flag("--weights-only,--weights_only", into.convert.weights_only);
    app.add_option("--dtype", into.convert.dtype)->check(CLI::IsMember({"fp16", "bf16", "fp32"}));
    app.add_option("--prefix", into.convert.prefix);
    app.add_option("--shards", into.convert.shards)->check(CLI::Range(int64_t{1}, int64_t{65536}));
  }
}

int run_subcommand(const std::string& name, const CkptArguments& arguments) {
  if (name == "ls") {
    ckpt_ls(std::cout, arguments.first, arguments.json);
  } else if (name == "convert") {
    ckpt_convert(std::cout, arguments.first, arguments.second, arguments.convert);
  } else if (name == "diff") {
    return ckpt_diff(std::cout, arguments.first, arguments.second, arguments.tolerance) ? 0 : 1;
  } else {
    return ckpt_verify(std::cout, {arguments.files.begin(), arguments.files.end()}) ? 0 : 1;
  }
  return 0;
}

}  // namespace

int ckpt_command(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw UsageError("levin ckpt: expected one of ", kCkptSubcommands);
  const std::string& name = arguments[0];
  const auto is_help = [](const std::string& argument) { return argument == "--help" || argument == "-h"; };
  if (std::any_of(arguments.begin(), arguments.end(), is_help)) {
    std::cout << kCkptHelp << std::flush;
    return 0;
  }
  if (name != "ls" && name != "diff" && name != "verify" && name != "convert")
    throw UsageError("levin ckpt: nothing is called '", name, "'",
                     did_you_mean(name, {"ls", "diff", "verify", "convert"}), "; there are: ", kCkptSubcommands);
  CLI::App app("", "levin ckpt " + name);
  CkptArguments taken;
  declare_subcommand(app, name, taken);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend() - 1);  // CLI11 parses from the back
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw UsageError("levin ckpt ", name, ": ", error.what(), "; `levin ckpt --help` shows how it is called");
  }
  const int code = run_subcommand(name, taken);
  std::cout.flush();
  return code;
}

}  // namespace levin::cli
