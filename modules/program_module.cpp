#include <levin/modules/program_module.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/modules/adapters/while_merged.h>
#include <levin/modules/nn/named_loss.h>
#include <levin/modules/program/blocks.h>
#include <levin/modules/program/input_check.h>
#include <levin/modules/program/mode_switch.h>
#include <levin/modules/program/mode_text.h>
#include <levin/modules/program/node_names.h>
#include <levin/modules/program/program_archive.h>
#include <levin/modules/program/program_part.h>
#include <levin/modules/program/runner.h>
#include <levin/modules/program/signature.h>
#include <levin/modules/program/written_buffers.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace levin {
namespace {

using program::described;
using program::InputKind;
using program::OutputKind;

std::filesystem::path checked_file(const ProgramModuleOptions& options) {
  schema_of<ProgramModuleOptions>().check(&options, "model");
  if (options.program.empty())
    throw UsageError("model.program: missing; name a file of torch.export.save with --model.program");
  return options.program;
}

std::set<std::string> paths_of(const std::map<std::string, program::Stretch>& blocks) {
  std::set<std::string> paths;
  for (const auto& [path, stretch] : blocks) paths.insert(path);
  return paths;
}

}  // namespace

std::vector<std::string> program_losses() { return losses_without(NamedLoss::Script); }

/// The program, and the module's tensors that it reads.
class ProgramModule::Impl {
 public:
  Impl(torch::nn::Module& root, const ProgramModuleOptions& options)
      : archive_(checked_file(options)),
        runner_(exported(), archive_.file(), options.operators),
        blocks_(program::find_blocks(exported(), runner_.plan())),
        tree_(root, archive_, paths_of(blocks_)),
        input_names(program::input_names_of(exported())),
        output_names(program::output_names_of(exported())),
        check_(exported(), archive_.file(), input_names) {
    runner_.follow_modes([this](const std::string& path) -> const torch::nn::Module* { return tree_.part(path); });
    bind_values();
    find_written_buffers();
    find_uncounted_batches();
    result = find_output("output", options.output);
    if (options.metric != OutputMetric::None) measured = find_measured("metric", options.metric_output);
  }

  /// The first output but the one that the loss takes, if the option names none.
  size_t find_measured(const char* option, const std::string& wanted) const {
    if (!wanted.empty()) return find_output("metric_output", wanted);
    if (output_names.size() < 2)
      throw UsageError("model.", option, ": ", file(), " returns nothing besides '", output_names[result], "'");
    return result == 0 ? 1 : 0;
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) {
    check_(inputs);
    follow_module();
    std::vector<c10::IValue> values = values_;
    size_t next = 0;
    for (const size_t slot : user_slots_) values[slot] = inputs[next++];
    std::set<size_t> kept_buffers;  // in eval mode the program writes to copies
    for (const auto& [slot, part] : written_)
      if (!part->is_training()) kept_buffers.insert(slot);
    std::set<size_t> copied = kept_buffers;
    for (const auto& [slot, output] : assigned_) copied.insert(slot);
    for (const size_t slot : copied) values[slot] = values[slot].toTensor().clone();
    std::vector<at::Tensor> results = runner_.run(std::move(values));
    const c10::NoGradGuard no_grad;
    for (const auto& [slot, output] : assigned_)
      if (!kept_buffers.contains(slot)) values_[slot].toTensor().copy_(results[output]);
    for (const auto& [part, count] : uncounted_)
      if (part->is_training()) at::Tensor(count).add_(1);
    std::vector<at::Tensor> kept;
    for (size_t i = 0; i < results.size(); ++i)
      if (exported().outputs[i].kind != OutputKind::BufferMutation) kept.push_back(std::move(results[i]));
    return kept;
  }

  /// Whether the chosen output is one floating-point number, as a loss is.
  bool makes_one_number() const {
    size_t index = 0;
    for (const program::Output& output : exported().outputs) {
      if (output.kind == OutputKind::BufferMutation || index++ != result) continue;
      const auto meta = exported().tensors.find(output.value);
      return meta != exported().tensors.end() && meta->second.sizes.empty() && c10::isFloatingType(meta->second.dtype);
    }
    return false;
  }

  ImportedTensor described_input(size_t place) const {
    for (const program::Input& input : exported().inputs)
      if (input.kind == InputKind::UserTensor && place-- == 0) return described(exported(), input.value);
    return {};
  }

  ImportedTensor described_output() const {
    size_t place = result;
    for (const program::Output& output : exported().outputs)
      if (output.kind != OutputKind::BufferMutation && place-- == 0) return described(exported(), output.value);
    return {};
  }

  void save(const std::filesystem::path& path) const {
    archive_.save(path, tree_.tensors(),
                  program::with_modes(archive_.json(), exported(),
                                      [this](const std::string& part) { return tree_.part(part)->is_training(); }));
  }

  const std::string& file() const { return archive_.file(); }

 private:
  const program::ExportedProgram& exported() const { return archive_.program(); }

  /// Puts parameters, buffers and constants into their slots.
  void bind_values() {
    const std::vector<program::Input>& inputs = exported().inputs;
    values_.resize(inputs.size());
    std::map<std::string, size_t> buffers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const program::Input& input = inputs[i];
      if (input.kind == InputKind::UserTensor) user_slots_.push_back(i);
      if (input.kind == InputKind::Buffer) buffers[input.target] = i;
      if (input.kind == InputKind::Parameter || (input.kind == InputKind::Buffer && input.persistent)) {
        values_[i] = tree_.tensor(input.target);
        if (input.kind == InputKind::Parameter && !leader_.defined()) leader_ = tree_.tensor(input.target);
      } else if (input.kind == InputKind::Constant || input.kind == InputKind::Buffer) {
        values_[i] = archive_.constant(input.target);
        constants_.push_back(i);
      }
    }
    for (size_t i = 0; i < exported().outputs.size(); ++i) {
      const program::Output& output = exported().outputs[i];
      if (output.kind != OutputKind::BufferMutation) continue;
      if (!buffers.contains(output.buffer))
        throw UsageError(file(), ": assigns '", output.buffer, "', which is no buffer of it");
      assigned_.emplace_back(buffers.at(output.buffer), i);
    }
    if (!leader_.defined()) return;
    dtype_ = leader_.scalar_type();
    for (const size_t slot : constants_)
      if (dtype_ == values_[slot].toTensor().scalar_type() && c10::isFloatingType(dtype_)) follow_dtype_.insert(slot);
  }

  /// A program has one graph, mostly that of train mode: what it writes there by itself is no business of evaluations.
  void find_written_buffers() {
    const std::set<std::string> written = program::written_buffers(exported(), runner_.plan());
    if (written.empty()) return;
    for (size_t i = 0; i < exported().inputs.size(); ++i) {
      const program::Input& input = exported().inputs[i];
      if (input.kind != InputKind::Buffer || !written.contains(input.target)) continue;
      written_.emplace_back(i, tree_.part(program::parent_of(input.target)));
    }
    const std::string names = joined(written);
    console::warn(
        file() + ": forward writes buffers by itself (" + names +
        "); in eval mode levin computes with what it writes, and puts the buffers back after each call, since "
        "a program does not know what the module does there");
  }

  /// A batch norm that was exported in evaluation does not count its batches.
  void find_uncounted_batches() {
    for (const std::string& name : program::ModeSwitches(exported()).uncounted()) {
      const auto counter = tree_.tensors().find(name);
      if (counter == tree_.tensors().end()) continue;
      uncounted_.emplace_back(tree_.part(program::parent_of(name)), counter->second);
    }
  }

  size_t find_output(const char* option, const std::string& wanted) const {
    if (output_names.empty()) throw UsageError(file(), ": forward returns nothing");
    if (wanted.empty()) return 0;
    for (size_t i = 0; i < output_names.size(); ++i)
      if (output_names[i] == wanted || std::to_string(i) == wanted) return i;
    const std::string names = joined(output_names);
    throw UsageError("model.", option, ": ", file(), " has no output '", wanted, "'; it has ", names);
  }

  /// Device, dtype and recomputed blocks are those of the module now.
  void follow_module() {
    const std::lock_guard lock(mutex_);
    std::vector<program::Stretch> stretches;
    for (const auto& [path, stretch] : blocks_)
      if (static_cast<const program::ProgramBlock*>(tree_.part(path))->checkpoint_activations)
        stretches.push_back(stretch);
    if (stretches.size() != recomputed_) {
      recomputed_ = stretches.size();
      std::ranges::sort(stretches, {}, &program::Stretch::begin);
      runner_.set_recomputed(std::move(stretches));
    }
    if (!leader_.defined() || (leader_.device() == device_ && leader_.scalar_type() == dtype_)) return;
    const c10::NoGradGuard no_grad;
    device_ = leader_.device();
    dtype_ = leader_.scalar_type();
    for (const size_t slot : constants_) {
      const at::Tensor constant = values_[slot].toTensor();
      const bool follows = follow_dtype_.contains(slot);
      values_[slot] = constant.to(device_, follows ? dtype_ : constant.scalar_type());
    }
    runner_.move(device_, dtype_);
  }

  program::ProgramArchive archive_;
  program::Runner runner_;
  std::map<std::string, program::Stretch> blocks_;  ///< by path
  program::ModelTree tree_;

 public:
  const std::vector<std::string> input_names, output_names;
  size_t result = 0;          ///< the output that the option `output` names
  size_t measured = 0;        ///< the one that `metric` is of
  size_t named_measured = 0;  ///< the one that `metrics` are of

 private:
  program::InputCheck check_;
  std::vector<c10::IValue> values_ = {};  ///< by slot: all but the user's inputs
  std::vector<size_t> user_slots_ = {}, constants_ = {};
  std::set<size_t> follow_dtype_ = {};                    ///< constants that have the parameters' dtype
  std::vector<std::pair<size_t, size_t>> assigned_ = {};  ///< buffers that get an output: slot, output
  std::vector<std::pair<size_t, const torch::nn::Module*>> written_ = {};  ///< buffers: slot, part that has them
  std::vector<std::pair<const torch::nn::Module*, at::Tensor>> uncounted_ = {};
  at::Tensor leader_ = {};  ///< the parameter whose device and dtype new tensors follow
  std::mutex mutex_ = {};
  c10::Device device_ = c10::kCPU;
  at::ScalarType dtype_ = at::kFloat;
  size_t recomputed_ = 0;
};

ProgramModule::ProgramModule(Options options_) : ImportedModule("ProgramModule"), options(std::move(options_)) {
  impl_ = std::make_unique<Impl>(*this, options);
  save_hyperparameters(options);
  if (options.loss == NamedLoss::Auto && impl_->makes_one_number()) options.loss = NamedLoss::Output;
  set_parameter_names(impl_->input_names, impl_->input_names.size());
  if (parameters().empty()) throw UsageError(options.program, ": the program has no parameters to train");
  load_initial_weights(*this, options.initial);
  if (!options.measured.metrics.empty())
    impl_->named_measured = has_own_loss() || !options.metric_output.empty()
                                ? impl_->find_measured("metrics", options.metric_output)
                                : impl_->result;
  std::vector<std::string> own = {"loss", "acc"};
  if (options.metric == OutputMetric::MeanAbsoluteError) own.emplace_back("mae");
  if (options.metric == OutputMetric::MeanSquaredError) own.emplace_back("mse");
  set_metrics("ProgramModule", own);
  train();
}

ProgramModule::~ProgramModule() = default;

std::vector<at::Tensor> ProgramModule::run_program(const std::vector<at::Tensor>& inputs) { return impl_->run(inputs); }

at::Tensor ProgramModule::chosen(const std::vector<at::Tensor>& outputs) const {
  const at::Tensor& output = outputs.at(impl_->result);
  if (!output.defined())
    throw UsageError("model.output: output '", impl_->output_names[impl_->result], "' of ", options.program,
                     " is no tensor; choose another one");
  return output;
}

at::Tensor ProgramModule::forward(const std::vector<at::Tensor>& inputs) { return chosen(impl_->run(inputs)); }

at::Tensor ProgramModule::result_of(const std::vector<at::Tensor>& outputs) const {
  at::Tensor output = chosen(outputs);
  if (has_own_loss() && output.numel() != 1)
    throw UsageError("model.loss: the output of ", options.program, " is ", output.sizes(),
                     ", and a loss is one number; choose a loss by name");
  return output;
}

const std::vector<std::string>& ProgramModule::input_names() const { return impl_->input_names; }
const std::vector<std::string>& ProgramModule::output_names() const { return impl_->output_names; }

ImportedTensor ProgramModule::described_parameter(size_t place) const { return impl_->described_input(place); }

ImportedTensor ProgramModule::described_output() const {
  ImportedTensor output = impl_->described_output();
  output.name = "input";
  return output;
}

void ProgramModule::save_program(const std::filesystem::path& path) const {
  const adapters::WhileMerged merged(*this);
  impl_->save(path);
}

ImportedModule::Choices ProgramModule::choices() const {
  return {options.program,   options.loss,         options.inputs, options.class_dimension, options.save_to,
          options.optimizer, options.lr_scheduler, options.groups, options.measured};
}

bool ProgramModule::has_own_loss() const { return options.loss == NamedLoss::Output; }

at::Tensor ProgramModule::own_loss(const std::vector<at::Tensor>& inputs, const at::Tensor& /*target*/) {
  return result_of(impl_->run(inputs));
}

/// A dimension whose size may differ counts no classes.
ClassDimension ProgramModule::known_class_dimension() const {
  const auto sizes = impl_->described_output().sizes;
  if (!sizes || sizes->size() < 3) return ClassDimension::Auto;
  const bool second_may_differ = sizes->at(1) < 0, last_may_differ = sizes->back() < 0;
  if (second_may_differ == last_may_differ) return ClassDimension::Auto;
  return second_may_differ ? ClassDimension::Last : ClassDimension::Second;
}

const at::Tensor& ProgramModule::metric_target_of(const Batch& batch) const {
  if (!options.metric_target.empty()) return batch[options.metric_target];
  return batch.contains("target") || !batch.contains("labels") ? batch.target() : batch["labels"];
}

at::Tensor ProgramModule::output_to_measure(const std::vector<at::Tensor>& outputs, size_t place) const {
  if (!outputs.at(place).defined())
    throw UsageError("model.metric_output: output '", impl_->output_names[place], "' of ", options.program,
                     " is no tensor; choose another one");
  return outputs[place];
}

std::pair<at::Tensor, at::Tensor> ProgramModule::measured_of(const Batch& batch,
                                                             const std::vector<at::Tensor>& outputs) const {
  return {output_to_measure(outputs, impl_->named_measured), metric_target_of(batch)};
}

void ProgramModule::log_metrics(const Batch& batch, const std::vector<at::Tensor>& outputs, const std::string& stage) {
  if (options.metric == OutputMetric::None) return;
  const at::Tensor output = output_to_measure(outputs, impl_->measured);
  const at::Tensor& target = metric_target_of(batch);
  const OutputScore score = measure_output(options.metric, output, target, options.class_dimension);
  if (!score.value.defined()) return;
  LogOptions how{.prog_bar = score.is_shown};
  if (score.counted > 0) how.batch_size = score.counted;
  log(stage + "_" + score.name, score.value, how);
}

}  // namespace levin
