#include <ATen/Context.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/data_module.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/run_module.h>
#include <levin/trainer/compile_step.h>
#include <levin/trainer/trainer_impl.h>

#include <cmath>
#include <iostream>

namespace levin::cli {
namespace {

struct CompileFlags {
  std::string out =
      LEVIN_OPTION(out, "", "The package that is written; train with it by `levin fit ... --compiled-step FILE`");
  Choice<CompiledOptimizer> optimizer =
      LEVIN_OPTION(optimizer, CompiledOptimizer::Eager,
                   "eager: the optimizer's steps stay levin's; in_step: SGD, Adam or AdamW is compiled too");
  std::string python =
      LEVIN_OPTION(python, "", "A Python with the same torch; unset: the one that LibTorch belongs to, or python3");
  int64_t threads = LEVIN_OPTION(threads, 0, "Compute threads of the code; 0: as many as a run has", {.min = 0});
};

void print(std::ostream& out, const CompileStepOptions& options, const CompileStepResult& result) {
  const bool in_step = options.optimizer == CompiledOptimizer::InStep;
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

int run_compile(const CompileFlags& flags, const Words& words) {
  const CommandLine line = read_command_line(schema_of<RunOptions>(), "fit", words);
  require_local("--out", flags.out);
  CompileStepOptions how;
  how.out = followed(flags.out).string();
  how.optimizer = flags.optimizer;
  how.python = flags.python;
  how.threads = flags.threads;
  const ReadOptions options = read_run_options(line.config);
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

}  // namespace

Command compile_command() {
  return make_command(
      {.name = "compile",
       .summary = "Compile forward and backward of a config's training step, once, for many runs",
       .usage = "--out FILE.pt2",
       .about = R"(It needs Python and a C++ compiler (CXX, or g++); the run needs neither. The package is for this
kind of CPU, this LibTorch, and this step: the model's options and code, and the precision.)",
       .rest = Rest::FitFlags,
       .values = {{"out", "FILE.pt2"}, {"python", "PATH"}}},
      run_compile);
}

}  // namespace levin::cli
