#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/format/zip_reader.h>
#include <levin/core/state/state.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_json.h>

#include <filesystem>
#include <map>
#include <string>

namespace levin::program {

/// A file of torch.export.save, of PyTorch 2.6 or newer: the program, and the tensors that it starts with. It is read
/// as data alone: nothing in it is executed or unpickled, and each number is checked before it is used.
class ProgramArchive {
 public:
  /// Opens and parses a file. Throws levin::UsageError that says what the file is if it is no such program.
  explicit ProgramArchive(const std::filesystem::path& path);

  const ExportedProgram& program() const { return program_; }
  const std::string& file() const { return bytes_.name; }
  /// Parameters and persistent buffers by name.
  const std::map<std::string, StoredTensor>& weights() const { return weights_; }
  /// Returns a new CPU tensor of a parameter or persistent buffer. Throws levin::UsageError if its memory is missing.
  at::Tensor weight(const std::string& name) const;
  /// Returns whether a parameter or persistent buffer is this tensor, bit for bit. Reads the file piece by piece.
  bool holds(const std::string& name, const at::Tensor& tensor) const;
  /// Returns the same as `weight` for a constant or a buffer that is not persistent.
  at::Tensor constant(const std::string& name) const;

  /// Writes the program with other parameters and buffers, and with the nodes' flags of train or eval mode as `json`
  /// has them, to a file that Python's torch.export.load opens. The file appears whole or not at all.
  void save(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& weights,
            const std::string& json) const;
  /// The program's text.
  std::string json() const;

 private:
  const ZipRecord* find(const std::string& name) const { return zip_.find(folder_ + name); }
  const ZipRecord& model_record() const;
  bool is_old() const;
  std::string find_folder() const;
  void read(const ZipRecord& record, char* to) const;
  std::string text_of(const ZipRecord& record) const;
  c10::Storage storage_of(const ZipRecord& record) const;
  void check_size(const ZipRecord& record, const std::string& name,
                  const std::map<std::string, StoredTensor>& config) const;
  std::map<std::string, StoredTensor> read_config(const std::string& name) const;
  State load_old(const char* record) const;
  c10::Storage storage_of(const StoredTensor& stored, const std::string& name, const std::string& folder) const;
  at::Tensor tensor(const std::string& name, const std::map<std::string, StoredTensor>& config,
                    const std::string& folder) const;

  FileBytes bytes_;
  ZipReader zip_;
  std::string folder_;  ///< of all records, with its slash
  const ZipRecord* model_;
  ExportedProgram program_;
  State old_weights_, old_constants_;  ///< of an old file
  std::map<std::string, StoredTensor> weights_, constants_;
};

}  // namespace levin::program
