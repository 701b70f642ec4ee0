#include <levin/data/datasets/readers/idx_file.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/core/system/hex_digits.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kUnsignedByte = 0x08;
constexpr int64_t kMostBytesPerCall = 1 << 30;
/// The highest compression ratio of deflate: 258 bytes in 2 bits.
constexpr int64_t kMostCompression = 1032;

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

class Reader {
 public:
  explicit Reader(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) throw UsageError(path.string(), ": cannot be opened: ", std::strerror(errno));
  }

  /// Returns the number of bytes read: less than `count` at the end of the file.
  int64_t read(void* to, int64_t count) {
    int64_t done = 0;
    while (done < count) {
      const auto ask = static_cast<unsigned>(std::min(count - done, kMostBytesPerCall));
      const int got = gzread(file_.get(), static_cast<char*>(to) + done, ask);
      if (got < 0) throw UsageError(path_.string(), ": ", reason());
      if (got == 0) break;
      done += got;
    }
    // A truncated gzip file reads as if it ended there; only gzerror reports it.
    int code = Z_OK;
    gzerror(file_.get(), &code);
    if (done < count && code == Z_BUF_ERROR) throw UsageError(path_.string(), ": the file is cut off; get it again");
    return done;
  }

  bool is_plain() const { return gzdirect(file_.get()); }

 private:
  std::string reason() const {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) return std::string("cannot be read: ") + std::strerror(errno);
    return "broken gzip data (" + std::string(message) + "); get the file again";
  }

  const fs::path& path_;
  File file_;
};

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

std::array<unsigned char, 4> big_endian(uint32_t value) {
  return {static_cast<unsigned char>(value >> 24), static_cast<unsigned char>(value >> 16),
          static_cast<unsigned char>(value >> 8), static_cast<unsigned char>(value)};
}

std::string hex(uint32_t value) {
  const std::array<unsigned char, 4> bytes = big_endian(value);
  return "0x" + hex_digits({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Returns the shape in the header; throws if the file cannot hold that many bytes.
std::vector<int64_t> read_shape(Reader& reader, const fs::path& path, int64_t dims) {
  const uint32_t expected = kUnsignedByte << 8 | static_cast<uint32_t>(dims);
  std::array<unsigned char, 4> word = {};
  const auto read_word = [&] {
    if (reader.read(word.data(), 4) < 4) throw UsageError(path.string(), ": the file is cut off inside its header");
    return big_endian(word.data());
  };
  if (const uint32_t magic = read_word(); magic != expected) {
    throw UsageError(path.string(), ": not an idx file of bytes with ", dims, " dimensions: it begins with ",
                     hex(magic), ", expected ", hex(expected));
  }
  const auto on_disk = static_cast<int64_t>(fs::file_size(path));
  const int64_t most = reader.is_plain() ? on_disk : (on_disk + 1) * kMostCompression;
  std::vector<int64_t> shape;
  int64_t total = 1, extent = 1;  // extent: the product with 1 for each 0, as strides are computed
  for (int64_t i = 0; i < dims; ++i) {
    shape.push_back(read_word());
    const int64_t size = std::max<int64_t>(shape.back(), 1);
    if (extent > std::numeric_limits<int64_t>::max() / size || (shape.back() > 0 && total > most / size)) {
      throw UsageError(path.string(), ": the header asks for more bytes than a file of ", on_disk, " bytes holds; ",
                       "the file is cut off or no idx file");
    }
    extent *= size;
    total *= shape.back();
  }
  return shape;
}

}  // namespace

std::optional<fs::path> find_idx(const fs::path& path) {
  std::error_code ignored;
  fs::path compressed = path;
  compressed += ".gz";
  for (const fs::path& candidate : {path, compressed}) {
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

at::Tensor read_idx(const fs::path& path, int64_t dims) {
  Reader reader(path);
  const std::vector<int64_t> shape = read_shape(reader, path, dims);
  at::Tensor values = at::empty(shape, at::TensorOptions(at::kByte));
  const int64_t got = reader.read(values.mutable_data_ptr(), values.numel());
  if (got < values.numel()) {
    throw UsageError(path.string(), ": the file is cut off: its header promises ", values.numel(), " bytes of data, ",
                     "it has ", got);
  }
  // This read also makes zlib compare the checksum.
  char more = 0;
  if (reader.read(&more, 1) > 0) {
    throw UsageError(path.string(), ": more data than the ", values.numel(), " bytes that its header promises");
  }
  return values;
}

void write_idx(const fs::path& path, const at::Tensor& values) {
  TORCH_CHECK(values.scalar_type() == at::kByte && values.is_cpu(), "write_idx: needs uint8 on the CPU");
  const at::Tensor data = values.contiguous();
  File file(gzopen(path.c_str(), path.extension() == ".gz" ? "wb6" : "wbT"));
  if (!file) throw UsageError(path.string(), ": cannot be written: ", std::strerror(errno));
  const auto write = [&](const void* from, int64_t count) {
    for (int64_t done = 0; done < count;) {
      const auto part = static_cast<unsigned>(std::min(count - done, kMostBytesPerCall));
      if (gzwrite(file.get(), static_cast<const char*>(from) + done, part) != static_cast<int>(part)) {
        throw UsageError(path.string(), ": cannot be written: ", std::strerror(errno));
      }
      done += part;
    }
  };
  write(big_endian(kUnsignedByte << 8 | static_cast<uint32_t>(data.dim())).data(), 4);
  for (const int64_t size : data.sizes()) write(big_endian(static_cast<uint32_t>(size)).data(), 4);
  write(data.const_data_ptr(), data.numel());
  if (gzclose(file.release()) != Z_OK) throw UsageError(path.string(), ": cannot be written: ", std::strerror(errno));
}

}  // namespace levin::data
