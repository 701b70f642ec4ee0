#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>

#include <torch/version.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace levin::program {

/// The tensors that a program starts with, by name and in order.
struct ProgramTensors {
  using Named = std::vector<std::pair<std::string, at::Tensor>>;
  Named weights = {};                    ///< parameters, then persistent buffers, as in a state dict
  size_t parameters = 0;                 ///< the number of parameters among them
  Named constants = {};                  ///< constants and buffers that are not persistent
  std::vector<at::Tensor> example = {};  ///< of each of the user's inputs; Python wants one
};

/// How torch.export.save lays out a file: as an archive from PyTorch 2.8 on, as old_files.h says before.
enum class Layout : uint8_t { Archive, Old };
/// The layout of the LibTorch that levin is built with.
inline constexpr Layout kLayout = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 8 ? Layout::Archive : Layout::Old;

/// Returns the program's text, a JSON. Regions of autocast and of other gradient modes are not written.
std::string program_text(const ExportedProgram& program, Layout layout = kLayout);

/// Writes a program as torch.export.save does, to a file that ProgramArchive and Python's torch.export.load read.
/// Tensors that share memory share it in the file. The file appears whole or not at all. Throws as AtomicFile, and
/// levin::UsageError for dtypes that the format lacks.
void write_program(const std::filesystem::path& path, const ExportedProgram& program, const ProgramTensors& tensors,
                   Layout layout = kLayout);

}  // namespace levin::program
