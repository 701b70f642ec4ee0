#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/data/files/archive_reader.h>
#include <levin/data/files/mapped_file.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// Consecutive members `key.ext` of a tar file with the same key, not decoded yet. Names are divided at the first dot
/// after the last slash. It has the interface of a user's own batch struct, with one sample. Source: the WebDataset
/// convention, https://github.com/webdataset/webdataset.
struct TarSample {
  struct Member {
    /// In lower case, without the dot: "npy", "mask.png".
    std::string extension = {};
    /// Byte offset of the member in the uncompressed archive.
    int64_t offset = 0;
    /// uint8 [bytes]; a view of the mapped file if the file is not compressed.
    at::Tensor bytes = {};
  };
  std::shared_ptr<const std::string> shard = {};
  MappedFilePtr file = {};
  std::string key = {};
  std::vector<Member> members = {};

  int64_t size() const { return 1; }
  TarSample to(c10::Device /*device*/) const { return *this; }
  /// Returns "train-000.tar: byte 512: member a/1.npy", for messages.
  std::string place(const Member& member) const;
};

/// The samples of one tar file, plain or gzip, in sequence. Members without a key or an extension are skipped.
class TarShardReader {
 public:
  /// Starts at `offset`, a value that `offset()` returned.
  TarShardReader(std::shared_ptr<const std::string> name, MappedFilePtr file, int64_t offset = 0);

  /// Returns the next sample; nothing at the end. Throws levin::UsageError that names file, byte and member: see
  /// ArchiveReader; also for two members of one name in a sample.
  std::optional<TarSample> next();
  /// Returns the byte offset of the next sample; nothing if there is none.
  std::optional<int64_t> offset();
  /// Continues with the sample at `offset`, which must lie after the samples read so far: at once, or for gzip by
  /// reading up to it.
  void skip_to(int64_t offset);

 private:
  struct Pending {  // without initialisers: clang 14 does not see them before the class ends
    std::string key;
    TarSample::Member member;
  };
  bool read_pending();

  std::shared_ptr<const std::string> name_;
  MappedFilePtr file_;
  ArchiveReader reader_;
  std::optional<Pending> pending_ = {};  // the first member of the next sample
};

}  // namespace levin::data
