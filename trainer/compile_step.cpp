#include <levin/trainer/compile_step.h>
#include <levin/callbacks/callback.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/private_folder.h>
#include <levin/core/system/python_of_libtorch.h>
#include <levin/core/system/version.h>
#include <levin/data/download/cache_folder.h>
#include <levin/trainer/compiled/compile_step_source.h>
#include <levin/trainer/compiled/step_check.h>
#include <levin/trainer/compiled/step_optimizer.h>
#include <levin/trainer/compiled/step_source.h>
#include <levin/trainer/loops/compiled_step.h>
#include <levin/trainer/run/run_context.h>
#include <levin/trainer/trainer_impl.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>

namespace levin {
namespace fs = std::filesystem;
namespace {

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string last_lines(const std::string& text) {
  constexpr size_t kMost = 1500;
  return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
}

/// Quotes a word for the shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void save_list(const std::vector<at::Tensor>& tensors, const fs::path& file) {
  State::List list;
  for (const at::Tensor& tensor : tensors) list.push_back(tensor);
  save_state(State(std::move(list)), file);
}

/// Returns the folder in which Inductor keeps what it compiles, that the user names or that only this user can write
/// to: its default lies in the folder for temporary files, where another user may have made it before.
fs::path inductor_cache(const PrivateFolder& otherwise) {
  if (const char* const named = std::getenv("TORCHINDUCTOR_CACHE_DIR")) return named;
  std::error_code error;
  const fs::path folder = data::cache_folder() / "inductor";
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  return error ? otherwise / "inductor" : fs::absolute(folder);
}

/// Runs Python on the program, which writes step.pt2 to `folder`; returns what the script says of it.
nlohmann::json run_python(const CompileStepOptions& options, const compiled::StepSource& program,
                          const std::vector<at::Tensor>& example, const PrivateFolder& folder) {
  std::ofstream(folder / "compile_step.py") << compiled::compile_step_source();
  std::ofstream(folder / "program.json") << program.json.dump();
  save_list(program.constants, folder / "constants.pt");
  save_list(example, folder / "example.pt");
  const std::string python = options.python.empty() ? python_of_libtorch() : options.python;
  std::string command = "TORCHINDUCTOR_CACHE_DIR=" + quoted(inductor_cache(folder).string()) + " " + quoted(python);
  for (const char* file : {"compile_step.py", "program.json", "constants.pt", "example.pt", "step.pt2"})
    command += " " + quoted((folder / file).string());
  command += " " + std::to_string(options.threads) + " > " + quoted((folder / "answer").string()) + " 2> " +
             quoted((folder / "errors").string());
  if (std::system(command.c_str()) != 0 || !fs::exists(folder / "step.pt2"))
    throw UsageError(
        "compile: ", python, " could not compile the step (it needs torch ", program.json["torch"].get<std::string>(),
        " and a C++ compiler; name another Python with --python):\n", last_lines(text_of(folder / "errors")));
  const std::string answer = text_of(folder / "answer");
  return nlohmann::json::parse(answer.substr(answer.rfind('{')));
}

void check_difference(const compiled::StepDifference& found, const char* of, CompileStepResult& result) {
  result.loss_difference = found.loss;
  result.gradient_difference = found.gradient;
  constexpr double kMost = 0.02;  // the gradients of bf16-mixed are this far from each other
  if (!(found.loss < kMost && found.gradient < kMost))
    throw Error(
        "compile: nothing was written: from the eager step the loss differs by ", found.loss, ", ", of, " by ",
        found.gradient,
        " of the largest. training_step does something that a recording of its operators does not show: it reads "
        "or writes memory by itself, or has state of its own; leave compiled_step unset");
}

void compare(const compiled::TracedParts& parts, const Batch& batch, const compiled::StepDescription& description,
             const fs::path& package, compiled::StepOptimizer* optimizer, CompileStepResult& result) try {
  const std::unique_ptr<compiled::CompiledCode> code = compiled::load_compiled_code(package);
  check_difference(compiled::compare_with_eager(parts, batch, description, *code, optimizer),
                   optimizer != nullptr ? "a parameter's change" : "a gradient", result);
} catch (const c10::Error& error) {
  throw UsageError("compile: nothing was written: what PyTorch compiled does not run: ", error.what_without_backtrace(),
                   "; leave compiled_step unset");
}

constexpr const char* kInStep = "compile: --optimizer in_step: ";

/// Compiles the step at the first training batch, when all is as in the run.
class CompileStep : public Callback {
 public:
  CompileStep(CompileStepOptions options, CompileStepResult& result) : options_(std::move(options)), result_(result) {}

  void on_train_batch_start(Run& run) override {
    const StepParts parts = dynamic_cast<RunView&>(run).context().step_parts();
    const compiled::TracedParts traced = {
        .module = parts.module, .context = parts.context, .precision = parts.precision};
    const auto start = std::chrono::steady_clock::now();
    compiled::StepSource program = compiled::make_step_source(traced, run.batch(), result_.why_fixed);
    program.json["levin"] = levin_version();
    const std::unique_ptr<compiled::StepOptimizer> optimizer = optimizer_of(parts, run.batch());
    if (optimizer) program.json["optimizer"] = nlohmann::ordered_json::parse(optimizer->describe().dump());
    if (optimizer && program.json["has_weight"].get<bool>())
      throw UsageError(kInStep, "training_step returns a weight, which decides on the optimizer's step");
    const PrivateFolder folder("compile");
    const nlohmann::json answer =
        run_python(options_, program, compiled::example_of_draws(traced, run.batch()), folder);
    const fs::path package = folder / "step.pt2";
    const compiled::StepDescription description = compiled::read_step_description(package);
    compiled::check_machine(description, package);
    if (optimizer) optimizer->set_stepped(description.gradients);
    if (result_.why_fixed.empty()) result_.why_fixed = answer.at("why").get<std::string>();
    result_.any_batch_size = description.least_samples != description.most_samples;
    result_.batch_size = description.batch_size;
    result_.draws_random_numbers = !description.draws.empty();
    if (const auto drawn = answer.find("drawn"); drawn != answer.end())
      check_difference({.loss = drawn->at(0).get<double>(), .gradient = drawn->at(1).get<double>()}, "a gradient",
                       result_);
    if (!result_.draws_random_numbers) compare(traced, run.batch(), description, package, optimizer.get(), result_);
    write_text_file_atomically(options_.out, map_file_bytes(package).text());
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    throw Done();
  }

  /// Ends the run before anything is trained.
  struct Done {};

 private:
  /// Returns null unless the optimizer's steps are compiled too.
  std::unique_ptr<compiled::StepOptimizer> optimizer_of(const StepParts& parts, const Batch& batch) const {
    if (options_.optimizer != CompiledOptimizer::InStep) return nullptr;
    if (const std::string why = why_not_with_optimizer(parts); !why.empty()) throw UsageError(kInStep, why);
    try {
      return std::make_unique<compiled::StepOptimizer>(*parts.optimizers.front(),
                                                       compiled::inputs_of_step(parts.module, batch));
    } catch (const UsageError& error) {
      throw UsageError(kInStep, error.what());
    }
  }

  CompileStepOptions options_;
  CompileStepResult& result_;
};

CompileStepResult compile_in(const Trainer& trainer, const CompileStepOptions& options,
                             const std::function<void(Trainer&)>& fit) {
  if (options.out.extension() != ".pt2")
    throw UsageError("compile: name the package with --out FILE.pt2",
                     options.out.empty() ? "" : "; got --out " + options.out.string());
  if (!options.optimizer.is_known())
    throw UsageError("compile: --optimizer is eager or in_step; got ", options.optimizer.word());
  CompileStepResult result;
  TrainerOptions changed = *trainer.options();
  changed.fast_dev_run = true;
  changed.overfit_batches = 0.0;
  changed.limit_val_batches = 0.0;
  changed.auto_lr_find = changed.barebones = false;
  changed.auto_scale_batch_size = {};
  changed.scale_lr = {};
  changed.enable_progress_bar = changed.enable_model_summary = false;
  changed.quiet = true;
  changed.compiled_step = "";
  changed.callbacks = {std::make_shared<CompileStep>(options, result)};
  const std::unique_ptr<Trainer> made = Trainer::Impl::for_dry_run(std::move(changed));
  try {
    fit(*made);
    throw UsageError("compile: the training loader gave no batch");
  } catch (const CompileStep::Done&) {
  }
  return result;
}

}  // namespace

CompileStepResult compile_step(const Trainer& trainer, ModuleRef module, data::DataModuleRef data,
                               const CompileStepOptions& options) {
  return compile_in(trainer, options, [&](Trainer& made) { made.fit(module, data); });
}

CompileStepResult compile_step(const Trainer& trainer, ModuleRef module, data::Loaders train,
                               const CompileStepOptions& options) {
  return compile_in(trainer, options, [&](Trainer& made) { made.fit(module, std::move(train)); });
}

}  // namespace levin
