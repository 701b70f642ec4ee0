#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/datasets/readers/csv_table.h>
#include <levin/data/datasets/readers/idx_file.h>
#include <levin/data/datasets/readers/tar_sample.h>
#include <levin/data/files/archive_reader.h>
#include <levin/data/files/csv_file.h>
#include <levin/data/files/npy_file.h>
#include <levin/data/files/npy_header.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "tests/data/files/archive_writer.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"

namespace levin::testing {
namespace {

using data::ArchiveReader;
using data::CsvReader;
using data::TarSample;
using data::TarShardReader;

/// A file in memory with these bytes.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : number_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (number_ < 0) throw std::runtime_error("memfd_create");
    if (::write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("write");
    }
  }
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

template <class Read>
void only_usage_errors(const Read& read) {
  try {
    read();
  } catch (const UsageError&) {
  }
}

std::string_view text_of(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()};
}

std::string idx_number(uint32_t value) {
  std::string bytes = archive_detail::number(value, 4);
  return {bytes.rbegin(), bytes.rend()};
}

std::string npy_bytes(const std::string& descr, const std::string& order, const std::string& shape, size_t bytes) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + archive_detail::number(header.size(), 2) + header + std::string(bytes, '\1');
}

/// Reads a table again that is written with every field in quotes.
void check_quoted(const std::string& input, data::CsvFormat format) {
  CsvReader reader(input, "input", format);
  std::string quoted;
  std::vector<std::string> fields;
  while (reader.next()) {
    for (size_t i = 0; i < reader.columns().size(); ++i) {
      quoted += i ? "," : "";
      fields.emplace_back(reader[i]);
      quoted += '"';
      for (const char c : fields.back()) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
      quoted += '"';
    }
    quoted += '\n';
  }
  if (fields.empty()) return;
  CsvReader again(quoted, "again", {.header = false});
  size_t next = 0;
  while (again.next()) {
    for (size_t i = 0; i < again.columns().size(); ++i) {
      expect(next < fields.size() && again[i] == fields[next], "a field that is quoted reads the same");
      ++next;
    }
  }
  expect(next == fields.size(), "a table that is quoted has as many fields");
}

void check_table(const std::string& input, const data::CsvDatasetOptions& options) {
  const MemoryFile file(input);
  const data::CsvTable table = data::read_csv_table(file.path(), options);
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  const auto encoding = data::learn_csv_encoding(table, rows, options);
  const Batch batch = data::encode_csv(table, rows, encoding, options);
  expect(batch.size() == table.rows() && table.rows() > 0, "each row becomes a sample");
}

void check_npy(const std::filesystem::path& path, size_t file_bytes) {
  const at::Tensor values = data::map_npy(path);
  expect(values.nbytes() <= file_bytes, "an array is not larger than its file");
  const at::Tensor whole = values.contiguous();
  const MemoryFile again("");
  data::write_npy(again.path(), whole);
  expect(text_of(data::map_npy(again.path())) == text_of(whole), "an array that is written again has the same values");
}

}  // namespace

void fuzz_idx(const std::string& input) {
  const MemoryFile file(input);
  for (const int64_t dims : {1, 3}) {
    only_usage_errors([&] {
      const at::Tensor values = data::read_idx(file.path(), dims);
      expect(values.dim() == dims && values.scalar_type() == at::kByte, "an idx file has the dimensions asked for");
      expect(values.numel() <= 1032 * (1 + static_cast<int64_t>(input.size())), "no more values than a file can hold");
    });
  }
}

void fuzz_npy(const std::string& input) {
  const MemoryFile file(input);
  only_usage_errors([&] { check_npy(file.path(), input.size()); });
  only_usage_errors([&] {
    for (const auto& [name, array] : data::read_npz(file.path())) text_of(array.contiguous());
  });
}

void fuzz_csv(const std::string& input) {
  only_usage_errors([&] { check_quoted(input, {.header = false}); });
  only_usage_errors([&] { check_quoted(input, {.delimiter = ';'}); });
  only_usage_errors([&] { check_table(input, {.missing = "mean", .standardize = true, .header = false}); });
  only_usage_errors([&] { check_table(input, {.categories = {"a"}, .target = "b", .missing = "drop"}); });
}

void fuzz_tar(const std::string& input) {
  const MemoryFile file(input);
  const auto name = std::make_shared<const std::string>("input");
  std::vector<TarSample> samples;
  only_usage_errors([&] {
    TarShardReader reader(name, data::map_file(file.path()));
    while (const auto offset = reader.offset()) {
      samples.push_back(*reader.next());
      expect(samples.back().members.front().offset == *offset, "a sample begins where it was said to");
    }
  });
  int64_t before = -1;
  for (const TarSample& sample : samples) {
    for (const auto& member : sample.members) {
      expect(member.offset > before, "members follow each other");
      before = member.offset;
      only_usage_errors([&] { data::npy_tensor(member.bytes, "member").contiguous(); });
    }
    // libarchive accepts some headers only in the middle of a file, not at its start.
    only_usage_errors([&] {
      TarShardReader again(name, data::map_file(file.path()), sample.members.front().offset);
      const auto same = again.next();
      expect(same && same->key == sample.key && same->members.size() == sample.members.size(),
             "a sample is found again");
      for (size_t i = 0; i < sample.members.size(); ++i) {
        expect(text_of(same->members[i].bytes) == text_of(sample.members[i].bytes), "with the same bytes");
      }
    });
  }
}

const std::vector<std::string>& idx_seeds() {
  const static std::string images = idx_number(0x803) + idx_number(2) + idx_number(2) + idx_number(3) + "abcdefghijkl";
  static const std::vector<std::string> seeds = {images, gzip_bytes(images), idx_number(0x801) + idx_number(3) + "abc",
                                                 idx_number(0x803) + std::string(12, '\xff')};
  return seeds;
}

const std::vector<std::string>& npy_seeds() {
  static const std::vector<std::string> seeds = {
      npy_bytes("<f4", "False", "(2, 3)", 24),
      npy_bytes(">c16", "True", "(2, 1, 2)", 64),
      npy_bytes("|b1", "False", "()", 1),
      npy_bytes("<i8", "False", "(0, 4)", 0),
      npy_bytes("|O", "False", "(1,)", 8),
      npy_bytes("<f8", "False", "(4611686018427387904, 4)", 0),
      zip_bytes({{"a.npy", npy_bytes("<f4", "False", "(2,)", 8)}, {"b.npy", npy_bytes("<u2", "True", "(2, 2)", 8)}},
                true),
      zip_bytes({{"a.npy", npy_bytes("<f4", "False", "(2,)", 8)}}, false),
  };
  return seeds;
}

const std::vector<std::string>& csv_seeds() {
  static const std::vector<std::string> seeds = {"a,b,c\n1,2,3\r\n\"x\"\"y\",\"2\n3\",4\n",
                                                 "\xef\xbb\xbf"
                                                 "a;b\n1;\n;2\n",
                                                 "1,2\n3,NA\n-1e3,+.5\n",
                                                 "a,b,c\nx,yes,1\ny,no,\n\nx,no,3",
                                                 "a,b\n1,\"2\n",
                                                 "a,b\r1,2\r",
                                                 "\xff\xfe"
                                                 "a",
                                                 "a,a\n1e400,inf\n"};
  return seeds;
}

const std::vector<std::string>& tar_seeds() {
  const static std::string tar =
      tar_bytes({{"a/1.npy", npy_bytes("<f4", "False", "(2,)", 8)}, {"a/1.cls", "3"}, {"b.txt", "x"}});
  static const std::vector<std::string> seeds = {
      tar,
      gzip_bytes(tar),
      tar_member("x", "14 path=\xc3\xa9\xe2\x82\xac\n", 'x') + tar_member("y.bin", "z"),
      tar_member("././@LongLink", std::string(120, 'n') + ".cls" + '\0', 'L') + tar_member("n", "1"),
      tar_member("d/", "", '5') + tar_member("d/l.npy", "", '2'),
  };
  return seeds;
}

}  // namespace levin::testing
