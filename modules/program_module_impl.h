#pragma once
#include <levin/modules/program/input_check.h>
#include <levin/modules/program/program_archive.h>
#include <levin/modules/program/program_part.h>
#include <levin/modules/program/runner.h>
#include <levin/modules/program_module.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// The program, and the module's tensors that it reads.
class ProgramModule::Impl {
 public:
  Impl(torch::nn::Module& root, const ProgramModuleOptions& options);

  /// The first output but the one that the loss takes, if the option names none.
  size_t find_measured(const char* option, const std::string& wanted) const;
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);
  /// Whether the chosen output is one floating-point number, as a loss is.
  bool makes_one_number() const;
  ImportedTensor described_input(size_t place) const;
  ImportedTensor described_output() const;
  void save(const std::filesystem::path& path) const;
  const std::string& file() const { return archive_.file(); }

 private:
  const program::ExportedProgram& exported() const { return archive_.program(); }
  /// Puts parameters, buffers and constants into their slots.
  void bind_values();
  /// A program has one graph, mostly that of train mode: what it writes there by itself is no business of evaluations.
  void find_written_buffers();
  /// A batch norm that was exported in evaluation does not count its batches.
  void find_uncounted_batches();
  size_t find_output(const char* option, const std::string& wanted) const;
  /// Device, dtype and recomputed blocks are those of the module now.
  void follow_module();

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

}  // namespace levin
