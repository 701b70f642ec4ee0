#pragma once
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/format/zip_reader.h>

#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// The records of one file of torch.save: a pickle, and the memory of its tensors. Storages are views of the file's own
/// bytes and keep them alive; only records that are deflated or misaligned are copied.
///
/// Beyond its own size, a file can make it allocate at most 64 MB in total. All functions throw levin::UsageError.
class StateArchive {
 public:
  /// Finds the records, whatever the name of the archive's folder, and checks the pickle.
  StateArchive(FileBytes file, bool verify_checksums);

  std::string_view pickle() const { return pickle_.text(); }
  /// Returns the storage `key`, of at least `bytes` bytes, for tensors of `type`; the same storage at each call with
  /// one key.
  c10::Storage storage(const std::string& key, size_t bytes, c10::ScalarType type);
  /// Ends reading. If checksums are to be verified, checks those of all storages that were asked for, then makes the
  /// bytes of bool tensors 0 or 1.
  void finish();

 private:
  struct Memory {
    const ZipRecord* record = nullptr;
    FileBytes bytes = {};
    c10::Storage storage = {};
    bool holds_bools = false;
  };

  std::string find_folder() const;
  const ZipRecord* find(const std::string& name) const { return zip_.find(folder_ + name); }
  FileBytes read(const ZipRecord& record);
  FileBytes allocate(const ZipRecord& record);
  FileBytes read_checked(const ZipRecord& record);
  Memory load(const std::string& key);
  void check_kind();

  FileBytes file_;
  ZipReader zip_;
  bool verify_checksums_;
  size_t copied_bytes_ = 0;
  std::string folder_;
  FileBytes pickle_;
  std::map<std::string, Memory> memories_;
};

}  // namespace levin
