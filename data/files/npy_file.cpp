#include <levin/data/files/npy_file.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/data/files/archive_reader.h>
#include <levin/data/files/bytes_view.h>
#include <levin/data/files/mapped_file.h>
#include <levin/data/files/npy_header.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

namespace levin::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are read and written in the machine's own byte order");

/// Returns the bytes of one number, which is half of a complex one.
int64_t bytes_of_number(at::ScalarType dtype) {
  const auto bytes = static_cast<int64_t>(c10::elementSize(dtype));
  return c10::isComplexType(dtype) ? bytes / 2 : bytes;
}

void reverse_each(char* bytes, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; i += size) std::reverse(bytes + i, bytes + i + size);
}

std::vector<int64_t> strides_of(const NpyHeader& header) {
  const size_t dims = header.shape.size();
  std::vector<int64_t> strides(dims);
  int64_t stride = 1;
  for (size_t i = 0; i < dims; ++i) {
    const size_t dim = header.fortran_order ? i : dims - 1 - i;
    strides[dim] = stride;
    stride *= std::max<int64_t>(header.shape[dim], 1);
  }
  return strides;
}

/// Throws for a byte other than 0 and 1, which is not a valid bool in C++.
void check_bools(const char* bytes, const NpyHeader& header, const std::string& name) {
  const char* end = bytes + header.data_bytes;
  const char* wrong = std::find_if(bytes, end, [](char byte) { return (byte & ~1) != 0; });
  if (wrong != end) {
    throw UsageError(name, ": byte ", header.data_offset + (wrong - bytes), ": a bool is ",
                     static_cast<int>(static_cast<unsigned char>(*wrong)), ", not 0 or 1");
  }
}

NpyHeader read_header(const char* begin, int64_t bytes, const std::string& name, const MappedFile* file) {
  constexpr int64_t kHead = 512;
  if (file && bytes > kHead && file->holds(begin, bytes)) {
    std::array<char, kHead> head;
    file->read(begin, kHead, head.data());
    const std::string_view text(head.data(), head.size());
    if (npy_data_offset(text) <= kHead) return parse_npy_header(text, name, bytes);
  }
  return parse_npy_header({begin, static_cast<size_t>(bytes)}, name, bytes);
}

/// Calls `visit(reader, name, name for messages)` for each array of a .npz file.
template <class Visit>
void for_each_array(const std::filesystem::path& path, const Visit& visit) {
  constexpr std::string_view kEnding = ".npy";
  const MappedFilePtr file = map_file(path, FileAccess::Sequential);
  if (!file->text().starts_with("PK")) throw UsageError(path.string(), ": not a .npz file, which is a zip file");
  ArchiveReader reader(file, ArchiveReader::Format::Zip);
  while (reader.next()) {
    std::string name = reader.name();
    const std::string in_file = path.string() + ": member " + name;
    if (!std::string_view(name).ends_with(kEnding)) throw UsageError(in_file, " is no .npy file");
    name.resize(name.size() - kEnding.size());
    visit(reader, name, in_file);
  }
}

}  // namespace

at::Tensor npy_tensor(const at::Tensor& bytes, const std::string& name, const MappedFile* file) {
  auto* begin = static_cast<char*>(bytes.mutable_data_ptr());
  const NpyHeader header = read_header(begin, bytes.numel(), name, file);
  at::Tensor owner = bytes;
  char* values = begin + header.data_offset;
  const int64_t number = bytes_of_number(header.dtype);
  if (header.big_endian || reinterpret_cast<uintptr_t>(values) % static_cast<uintptr_t>(number) != 0) {
    owner = at::empty({header.data_bytes}, at::TensorOptions(at::kByte));
    if (header.data_bytes) std::memcpy(owner.mutable_data_ptr(), values, static_cast<size_t>(header.data_bytes));
    values = static_cast<char*>(owner.mutable_data_ptr());
    if (header.big_endian) reverse_each(values, header.data_bytes, number);
  }
  if (header.dtype == at::kBool) check_bools(values, header, name);
  return at::from_blob(values, header.shape, strides_of(header), [owner](void*) {}, at::TensorOptions(header.dtype));
}

at::Tensor map_npy(const std::filesystem::path& path) {
  const MappedFilePtr file = map_file(path);
  return npy_tensor(bytes_view(file->data(), file->size(), file), path.string());
}

NpyHeader packed_npy_header(ArchiveReader& reader, const std::string& name) {
  constexpr int64_t kHead = 512, kMostHeader = 1 << 20;
  std::string_view head = reader.peek(kHead);
  const int64_t offset = npy_data_offset(head);
  if (offset > kMostHeader) throw UsageError(name, ": byte 8: a header of ", offset, " bytes, of which no array has");
  if (offset > static_cast<int64_t>(head.size())) head = reader.peek(offset);
  return parse_npy_header(head, name, reader.size());
}

std::map<std::string, NpyHeader> npz_headers(const std::filesystem::path& path) {
  std::map<std::string, NpyHeader> headers;
  for_each_array(path, [&](ArchiveReader& reader, const std::string& name, const std::string& in_file) {
    headers.insert_or_assign(name, packed_npy_header(reader, in_file));
  });
  return headers;
}

std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path, const std::set<std::string>& names) {
  std::map<std::string, at::Tensor> arrays;
  for_each_array(path, [&](ArchiveReader& reader, const std::string& name, const std::string& in_file) {
    if (!names.empty() && !names.contains(name)) return;
    packed_npy_header(reader, in_file);
    arrays.insert_or_assign(name, npy_tensor(reader.read(), in_file));
  });
  return arrays;
}

void write_npy(const std::filesystem::path& path, const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
  const std::string header = npy_header(values.scalar_type(), values.sizes().vec());
  AtomicFile file(followed(path));
  file.write(header.data(), header.size());
  if (values.numel()) file.write(values.const_data_ptr(), values.nbytes());
  file.commit();
}

}  // namespace levin::data
