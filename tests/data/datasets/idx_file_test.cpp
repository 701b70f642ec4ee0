#include <levin/data/datasets/readers/idx_file.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <levin/core/system/error.h>
#include <levin/data/rng.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using namespace levin::data;

namespace {

at::Tensor images() { return at::arange(2 * 3 * 4, at::TensorOptions(at::kByte)).reshape({2, 3, 4}); }

/// Returns the error message of reading `bytes` as images, without the file's path in front.
std::string message(const TemporaryFolder& folder, const std::string& bytes) {
  const auto path = folder / "file";
  write_bytes(path, bytes);
  const std::string text = error_text([&] { read_idx(path, 3); });
  return text.rfind(path.string() + ": ", 0) == 0 ? text.substr(path.string().size() + 2) : text;
}

}  // namespace

TEST_CASE("what is written as idx is read back, plain and gzip") {
  const TemporaryFolder folder;
  for (const char* name : {"images", "images.gz"}) {
    write_idx(folder / name, images());
    CHECK(at::equal(read_idx(folder / name, 3), images()));
  }
  CHECK(read_bytes(folder / "images").size() == 16 + 24);
  CHECK(read_bytes(folder / "images").substr(0, 8) == std::string("\0\0\x08\x03\0\0\0\x02", 8));
  CHECK(read_bytes(folder / "images.gz").substr(0, 2) == "\x1f\x8b");
  write_idx(folder / "labels", at::arange(5, at::TensorOptions(at::kByte)));
  CHECK(read_idx(folder / "labels", 1).numel() == 5);
}

TEST_CASE("a file is found by its name with or without .gz") {
  const TemporaryFolder folder;
  CHECK_FALSE(find_idx(folder / "x"));
  write_idx(folder / "x.gz", images());
  CHECK(find_idx(folder / "x") == folder / "x.gz");
  write_idx(folder / "x", images());
  CHECK(find_idx(folder / "x") == folder / "x");
  std::filesystem::create_directory(folder / "y");
  CHECK_FALSE(find_idx(folder / "y"));
}

TEST_CASE("a file that is no whole idx file is refused with its name and the reason") {
  const TemporaryFolder folder;
  write_idx(folder / "good", images());
  write_idx(folder / "good.gz", images());
  const std::string good = read_bytes(folder / "good"), zipped = read_bytes(folder / "good.gz");

  CHECK(message(folder, good) == "no error");
  CHECK(message(folder, "") == "the file is cut off inside its header");
  CHECK(message(folder, good.substr(0, 10)) == "the file is cut off inside its header");
  CHECK(message(folder, good.substr(0, 39)).find("promises 24 bytes of data, it has 23") != std::string::npos);
  CHECK(message(folder, good + "x") == "more data than the 24 bytes that its header promises");
  CHECK(message(folder, "PK\x03\x04 some zip file") ==
        "not an idx file of bytes with 3 dimensions: it begins with 0x504b0304, expected 0x00000803");
  CHECK(message(folder, std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16))
            .find("the header asks for more bytes than a file of 16 bytes holds") == 0);
  CHECK(message(folder, std::string("\0\0\x08\x03\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16))
            .find("the header asks for more bytes than a file of 16 bytes holds") == 0);
  CHECK(message(folder, zipped.substr(0, zipped.size() - 10)).find("the file is cut off") == 0);
  std::string wrong_sum = zipped;
  wrong_sum[wrong_sum.size() - 8] ^= 1;
  CHECK(message(folder, wrong_sum).find("broken gzip data") == 0);
  CHECK(error_text([&] { read_idx(folder / "absent", 3); }).find("absent: cannot be opened: No such file") !=
        std::string::npos);
  CHECK(error_text([&] { read_idx(folder.path(), 3); }).find("cannot be read") != std::string::npos);
  CHECK(error_text([&] { write_idx(folder / "none/x", images()); }).find("none/x: cannot be written") !=
        std::string::npos);
}

TEST_CASE("cut or changed bytes give an error or a tensor, never anything else") {
  const TemporaryFolder folder;
  write_idx(folder / "good", images());
  write_idx(folder / "good.gz", images());
  const auto path = folder / "file";
  Rng rng(1, 0, 0);
  const auto read = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    try {
      return read_idx(path, 3).numel() <= 1032 * (1 + static_cast<int64_t>(bytes.size()));
    } catch (const levin::UsageError&) {
      return true;
    }
  };
  for (const char* name : {"good", "good.gz"}) {
    const std::string good = read_bytes(folder / name);
    for (size_t length = 0; length < good.size(); ++length) {
      write_bytes(path, good.substr(0, length));
      CHECK_THROWS_AS(read_idx(path, 3), levin::UsageError);
    }
    for (int i = 0; i < 300; ++i) {
      std::string bytes = good;
      for (int64_t changes = rng.randint(1, 4); changes > 0; --changes) {
        bytes[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(bytes.size())))] = static_cast<char>(rng());
      }
      REQUIRE(read(bytes));
    }
  }
}
