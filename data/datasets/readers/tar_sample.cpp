#include <levin/data/datasets/readers/tar_sample.h>
#include <levin/core/system/error.h>
#include <levin/data/files/npy_file.h>

#include <algorithm>

namespace levin::data {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string TarSample::place(const Member& member) const {
  return *shard + ": byte " + std::to_string(member.offset) + ": member " + key + "." + member.extension;
}

TarShardReader::TarShardReader(std::shared_ptr<const std::string> name, MappedFilePtr file, int64_t offset)
    : name_(std::move(name)), file_(std::move(file)), reader_(file_, ArchiveReader::Format::Tar, offset) {}

bool TarShardReader::read_pending() {
  while (!pending_ && reader_.next()) {
    const std::string& name = reader_.name();
    const size_t slash = name.rfind('/'), begin = slash == name.npos ? 0 : slash + 1;
    const size_t dot = name.find('.', begin);
    if (dot == name.npos || dot == begin || dot + 1 == name.size()) continue;
    Pending& pending = pending_.emplace();
    pending.key = name.substr(0, dot);
    pending.member.extension = name.substr(dot + 1);
    std::ranges::transform(pending.member.extension, pending.member.extension.begin(), lower);
    pending.member.offset = reader_.offset();
    const bool is_array = pending.member.extension.ends_with("npy");
    if (is_array && reader_.is_compressed()) {
      packed_npy_header(reader_, *name_ + ": byte " + std::to_string(reader_.offset()) + ": member " + name);
    }
    pending.member.bytes = reader_.read();
  }
  return pending_.has_value();
}

std::optional<int64_t> TarShardReader::offset() {
  if (!read_pending()) return {};
  return pending_->member.offset;
}

void TarShardReader::skip_to(int64_t offset) {
  if (reader_.is_compressed()) {
    while (read_pending() && pending_->member.offset < offset) pending_.reset();
  } else {
    pending_.reset();
    reader_ = ArchiveReader(file_, ArchiveReader::Format::Tar, offset);
  }
}

std::optional<TarSample> TarShardReader::next() {
  if (!read_pending()) return {};
  TarSample sample;
  sample.shard = name_;
  sample.file = file_;
  sample.key = pending_->key;
  while (read_pending() && pending_->key == sample.key) {
    if (std::ranges::count(sample.members, pending_->member.extension, &TarSample::Member::extension)) {
      throw UsageError(sample.place(pending_->member), ": the sample has a member of this name already");
    }
    sample.members.push_back(std::move(pending_->member));
    pending_.reset();
  }
  return sample;
}

}  // namespace levin::data
