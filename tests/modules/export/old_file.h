#pragma once
#include <levin/modules/program/program_archive.h>
#include <levin/modules/program/program_writer.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

/// Writes a program again as PyTorch 2.6 does, with its own tensors and an example of the inputs.
inline void write_old(const std::filesystem::path& from, const std::filesystem::path& to,
                      const std::vector<at::Tensor>& example) {
  namespace program = levin::program;
  const program::ProgramArchive archive(from);
  program::ProgramTensors tensors;
  tensors.example = example;
  std::map<std::string, at::Tensor> known;
  for (const bool parameters : {true, false})
    for (const auto& [name, stored] : archive.weights())
      if (stored.is_parameter == parameters) {
        // One tensor for the names of a tied one.
        const at::Tensor tensor = known.emplace(stored.record, archive.weight(name)).first->second;
        tensors.weights.emplace_back(name, tensor);
        tensors.parameters += static_cast<size_t>(parameters);
      }
  for (const program::Input& input : archive.program().inputs)
    if (input.kind == program::InputKind::Constant)
      tensors.constants.emplace_back(input.target, archive.constant(input.target));
  program::write_program(to, archive.program(), tensors, program::Layout::Old);
}
