#include <levin/modules/program_module_impl.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/modules/program/blocks.h>
#include <levin/modules/program/mode_switch.h>
#include <levin/modules/program/mode_text.h>
#include <levin/modules/program/node_names.h>
#include <levin/modules/program/signature.h>
#include <levin/modules/program/written_buffers.h>

#include <algorithm>

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

ProgramModule::Impl::Impl(torch::nn::Module& root, const ProgramModuleOptions& options)
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

size_t ProgramModule::Impl::find_measured(const char* option, const std::string& wanted) const {
  if (!wanted.empty()) return find_output("metric_output", wanted);
  if (output_names.size() < 2)
    throw UsageError("model.", option, ": ", file(), " returns nothing besides '", output_names[result], "'");
  return result == 0 ? 1 : 0;
}

std::vector<at::Tensor> ProgramModule::Impl::run(const std::vector<at::Tensor>& inputs) {
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

bool ProgramModule::Impl::makes_one_number() const {
  size_t index = 0;
  for (const program::Output& output : exported().outputs) {
    if (output.kind == OutputKind::BufferMutation || index++ != result) continue;
    const auto meta = exported().tensors.find(output.value);
    return meta != exported().tensors.end() && meta->second.sizes.empty() && c10::isFloatingType(meta->second.dtype);
  }
  return false;
}

ImportedTensor ProgramModule::Impl::described_input(size_t place) const {
  for (const program::Input& input : exported().inputs)
    if (input.kind == InputKind::UserTensor && place-- == 0) return described(exported(), input.value);
  return {};
}

ImportedTensor ProgramModule::Impl::described_output() const {
  size_t place = result;
  for (const program::Output& output : exported().outputs)
    if (output.kind != OutputKind::BufferMutation && place-- == 0) return described(exported(), output.value);
  return {};
}

void ProgramModule::Impl::save(const std::filesystem::path& path) const {
  archive_.save(path, tree_.tensors(),
                program::with_modes(archive_.json(), exported(),
                                    [this](const std::string& part) { return tree_.part(part)->is_training(); }));
}

void ProgramModule::Impl::bind_values() {
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

void ProgramModule::Impl::find_written_buffers() {
  const std::set<std::string> written = program::written_buffers(exported(), runner_.plan());
  if (written.empty()) return;
  for (size_t i = 0; i < exported().inputs.size(); ++i) {
    const program::Input& input = exported().inputs[i];
    if (input.kind != InputKind::Buffer || !written.contains(input.target)) continue;
    written_.emplace_back(i, tree_.part(program::parent_of(input.target)));
  }
  const std::string names = joined(written);
  console::warn(file() + ": forward writes buffers by itself (" + names +
                "); in eval mode levin computes with what it writes, and puts the buffers back after each call, since "
                "a program does not know what the module does there");
}

void ProgramModule::Impl::find_uncounted_batches() {
  for (const std::string& name : program::ModeSwitches(exported()).uncounted()) {
    const auto counter = tree_.tensors().find(name);
    if (counter == tree_.tensors().end()) continue;
    uncounted_.emplace_back(tree_.part(program::parent_of(name)), counter->second);
  }
}

size_t ProgramModule::Impl::find_output(const char* option, const std::string& wanted) const {
  if (output_names.empty()) throw UsageError(file(), ": forward returns nothing");
  if (wanted.empty()) return 0;
  for (size_t i = 0; i < output_names.size(); ++i)
    if (output_names[i] == wanted || std::to_string(i) == wanted) return i;
  const std::string names = joined(output_names);
  throw UsageError("model.", option, ": ", file(), " has no output '", wanted, "'; it has ", names);
}

void ProgramModule::Impl::follow_module() {
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

}  // namespace levin
