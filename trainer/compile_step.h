#pragma once
#include <levin/core/options/choice.h>
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/trainer.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

/// Who steps the optimizer of a compiled step: levin, or the compiled code.
enum class CompiledOptimizer : uint8_t { Eager, InStep };
template <>
inline constexpr auto kWords<CompiledOptimizer> =
    words_of<CompiledOptimizer>({{"eager", CompiledOptimizer::Eager}, {"in_step", CompiledOptimizer::InStep}});

/// The options of levin::compile_step.
struct CompileStepOptions {
  std::filesystem::path out = {};  ///< the package that is written, FILE.pt2
  std::string python = {};  ///< with torch of LibTorch's version; empty: the one that LibTorch lies in, or python3
  int64_t threads = 0;      ///< that the code will use; 0: as many as a run has
  /// InStep: for levin's SGD, Adam and AdamW on one device, without accumulation, clipping and hooks inside of the
  /// step.
  Choice<CompiledOptimizer> optimizer = CompiledOptimizer::Eager;
};

/// The result of levin::compile_step.
struct CompileStepResult {
  bool any_batch_size = true;  ///< the package takes batches of 2 samples or more; else only of `batch_size`
  int64_t batch_size = 0;      ///< of the batch that was compiled
  std::string why_fixed = {};  ///< the reason, if the package takes one size alone
  /// The package draws other random numbers than the eager step. What was compared is then its recording, with the
  /// eager step's draws.
  bool draws_random_numbers = false;
  /// How far the package is from the eager step on that batch: the loss, relative where it is above 1, and the largest
  /// difference of a gradient, as a share of the largest gradient; of a parameter's change, if the optimizer is in the
  /// step, as a share of the largest change.
  double loss_difference = 0, gradient_difference = 0;
  double seconds = 0;
};

/// Compiles the module's training step, forward and backward, for runs with TrainerOptions::compiled_step: traces
/// training_step on the first batch, lets Python's torch compile the graph (AOTInductor, which needs a C++ compiler),
/// and writes a package for this CPU, this LibTorch and this step. Nothing is trained, and the weights are as before.
///
///     levin::Trainer trainer(options);
///     levin::compile_step(trainer, *model, data, {.out = "step.pt2"});
///     options.compiled_step = "step.pt2";
///     levin::Trainer(options).fit(*model, data);
///
/// Throws levin::UsageError for a step that cannot be compiled, and for a Python that cannot do it; levin::Error if the
/// package computes something else than the eager step, and is therefore not written.
CompileStepResult compile_step(const Trainer& trainer, ModuleRef module, data::DataModuleRef data,
                               const CompileStepOptions& options);
/// Does the same with loaders, or with the module's own.
CompileStepResult compile_step(const Trainer& trainer, ModuleRef module, data::Loaders train,
                               const CompileStepOptions& options);

}  // namespace levin
