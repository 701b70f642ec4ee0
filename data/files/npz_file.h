#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/format/zip_reader.h>
#include <levin/data/files/mapped_file.h>

#include <filesystem>
#include <string>
#include <vector>

namespace levin::data {

/// The arrays of a .npz file, which are read one by one.
///
/// All functions throw levin::UsageError, with the file's name, if the file or an array of it is damaged.
class NpzFile {
 public:
  /// Maps the file and reads its directory. Throws for members that are no arrays.
  explicit NpzFile(const std::filesystem::path& path);

  /// Returns the names of the arrays, without `.npy`, in file order.
  std::vector<std::string> names() const;
  /// Returns an array. If it is stored without compression, at a place that suits its type, it is a view of the mapped
  /// file, whose values are read when they are touched, and whose checksum is not computed; writes to it do not reach
  /// the file. Otherwise it is in memory, after a check of its checksum. Throws for a name that there is not, with
  /// those there are.
  at::Tensor array(const std::string& name) const;

 private:
  std::string name_;
  MappedFilePtr file_;
  ZipReader zip_;
};

}  // namespace levin::data
