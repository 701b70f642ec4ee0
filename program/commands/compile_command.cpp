#include <ATen/Context.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/data_module.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/trainer/compile_step.h>
#include <levin/trainer/trainer_impl.h>

#include <cmath>
#include <iostream>

namespace levin::cli {
namespace {

constexpr const char* kHelp =
    R"(levin compile compiles the training step of a config: forward and backward become one piece of machine code.

Usage: levin compile --config FILE... [--FLAG VALUE...] --out step.pt2 [--optimizer in_step] [--python PATH]
                     [--threads N]

  --out FILE.pt2    The package that is written; train with it by `levin fit ... --compiled-step FILE.pt2`
  --optimizer HOW   eager (default): the optimizer's steps stay levin's; in_step: SGD, Adam or AdamW compiled too
  --python PATH     A Python with the same torch; else the one that LibTorch belongs to, or python3
  --threads N       Compute threads of the code; else as many as a run has

It needs Python and a C++ compiler (CXX, or g++); the run needs neither. The package is for this kind of CPU, this
LibTorch, and this step: the model's options and code, and the precision. The other flags are those of fit.
)";

void print(std::ostream& out, const CompileStepOptions& options, const CompileStepResult& result) {
  const bool in_step = options.optimizer == "in_step";
  out << options.out.string() << ": forward" << (in_step ? ", backward and optimizer" : " and backward")
      << " of a training step, for batches of ";
  if (result.any_batch_size)
    out << "2 samples or more";
  else
    out << result.batch_size << " samples alone (" << result.why_fixed << ")";
  out << ", compiled in " << std::round(result.seconds) << " s; ";
  const bool compares_changes = in_step && !result.draws_random_numbers;
  out << "its loss differs from the eager one by " << result.loss_difference
      << (compares_changes ? ", its parameters' changes by " : ", its gradients by ") << result.gradient_difference
      << " of the largest";
  if (result.draws_random_numbers) out << ", if it draws the eager step's random numbers";
  out << '\n';
  out.flush();
}

}  // namespace

int compile_command(std::vector<std::string> arguments) {
  CompileStepOptions how;
  how.out = followed(take_flag(arguments, "--out").value_or("")).string();
  how.optimizer = take_flag(arguments, "--optimizer").value_or(how.optimizer);
  how.python = take_flag(arguments, "--python").value_or("");
  how.threads = take_count(arguments, "--threads", /*least=*/1).value_or(0);
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", arguments);
  if (!line.flags.help.empty()) {
    std::cout << kHelp << "\n" << line.flags.help << std::flush;
    return 0;
  }
  const RunOptions options = read_run_options(line.config);
  require_model(options);
  if (options.trainer.seed) at::manual_seed(static_cast<uint64_t>(*options.trainer.seed));
  const auto module = options.model.make("model");
  const auto data = options.data ? options.data.make("data") : nullptr;
  const std::unique_ptr<Trainer> trainer = Trainer::Impl::for_dry_run(options.trainer);
  const CompileStepResult result =
      data ? compile_step(*trainer, *module, *data, how) : compile_step(*trainer, *module, data::Loaders(), how);
  print(std::cout, how, result);
  return 0;
}

}  // namespace levin::cli
