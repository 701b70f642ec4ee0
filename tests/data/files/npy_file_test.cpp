#include <levin/data/files/npy_file.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>
#include <levin/core/system/error.h>
#include <levin/data/files/npy_header.h>
#include <levin/data/rng.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "tests/catch.h"
#include "tests/core/state/zip_builder.h"
#include "tests/data/files/archive_writer.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using namespace levin::data;

namespace {

/// Returns a .npy array with this header and these values.
std::string npy(const std::string& header, const std::string& values, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + values;
}

std::string header(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

/// Returns the error message of mapping `bytes`, without the file's path in front.
std::string message(const TemporaryFolder& folder, const std::string& bytes) {
  const auto path = folder / "x.npy";
  write_bytes(path, bytes);
  const std::string text = error_text<levin::UsageError>([&] { map_npy(path); });
  return text.rfind(path.string() + ": ", 0) == 0 ? text.substr(path.string().size() + 2) : text;
}

at::Tensor read(const TemporaryFolder& folder, const std::string& bytes) {
  write_bytes(folder / "x.npy", bytes);
  return map_npy(folder / "x.npy");
}

/// Returns the bytes of the numbers, in reverse order within each number if `reversed` is set.
template <class T>
std::string bytes_of(std::initializer_list<T> values, bool reversed = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one(reinterpret_cast<const char*>(&value), sizeof(T));
    bytes += reversed ? std::string(one.rbegin(), one.rend()) : one;
  }
  return bytes;
}

}  // namespace

TEST_CASE("arrays written as npy are read back, in every dtype and shape") {
  const TemporaryFolder folder;
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kUInt16, at::kUInt32, at::kUInt64,
        at::kHalf, at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{2, 3, 4}, {24}, {}, {3, 0, 5}}) {
      const int64_t count = c10::multiply_integers(shape);
      const at::Tensor values = at::arange(count).remainder(2).to(dtype).reshape(shape);
      write_npy(folder / "x", values);
      const at::Tensor again = map_npy(folder / "x");
      INFO(c10::toString(dtype) << " " << values.sizes());
      CHECK(again.scalar_type() == dtype);
      CHECK(again.sizes() == values.sizes());
      CHECK(again.is_contiguous());
      const std::string bytes = read_bytes(folder / "x");
      REQUIRE(bytes.size() == 128 + values.nbytes());
      if (count) CHECK(std::memcmp(bytes.data() + 128, values.const_data_ptr(), values.nbytes()) == 0);
      if (count) CHECK(std::memcmp(again.const_data_ptr(), values.const_data_ptr(), values.nbytes()) == 0);
    }
  }
  write_npy(folder / "x", at::arange(6).reshape({2, 3}).t());
  CHECK(at::equal(map_npy(folder / "x"), at::arange(6).reshape({2, 3}).t()));
  CHECK(contains(error_text<levin::UsageError>([&] { write_npy(folder / "x", at::zeros({1}, at::kBFloat16)); }),
                 "NumPy has no dtype BFloat16"));
  CHECK(contains(error_text<levin::UsageError>([&] { write_npy(folder / "none/x", at::zeros({1})); }),
                 "none/x: cannot be written, there is no folder"));
}

TEST_CASE("an array that replaces a mapped one leaves the mapped values as they are") {
  const TemporaryFolder folder;
  write_npy(folder / "x", at::arange(5000));
  const at::Tensor mapped = map_npy(folder / "x");
  write_npy(folder / "x", at::zeros({1}));
  CHECK(at::equal(mapped, at::arange(5000)));
  CHECK(at::equal(map_npy(folder / "x"), at::zeros({1})));
}

TEST_CASE("a mapped array keeps its mapping alive, and writing into it leaves the file as it is") {
  const TemporaryFolder folder;
  write_npy(folder / "x", at::arange(5));
  const std::string before = read_bytes(folder / "x");
  at::Tensor values = map_npy(folder / "x");
  values.fill_(7);
  CHECK(read_bytes(folder / "x") == before);
  CHECK(at::equal(map_npy(folder / "x"), at::arange(5)));
  std::filesystem::remove(folder / "x");
  CHECK(values.sum().item<int64_t>() == 35);
}

TEST_CASE("npy headers are read in all versions, orders and spellings") {
  const TemporaryFolder folder;
  const std::string values = bytes_of<int32_t>({0, 1, 2, 3, 4, 5});
  const at::Tensor expected = at::arange(6, at::kInt).reshape({2, 3});
  for (const char version : {1, 2, 3}) {
    CHECK(at::equal(read(folder, npy(header("<i4", "(2, 3)"), values, version)), expected));
  }
  CHECK(at::equal(read(folder, npy("{\"shape\":(2L,3L),'fortran_order':False , 'descr':\"<i4\"}", values)), expected));
  CHECK(at::equal(read(folder, npy(header("=i4", "(2, 3,)"), values)), expected));
  const at::Tensor fortran = read(folder, npy(header("<i4", "(3, 2)", "True"), values));
  CHECK(fortran.strides() == at::IntArrayRef({1, 3}));
  CHECK(at::equal(fortran, expected.t()));
  CHECK(at::equal(read(folder, npy(header(">i4", "(2, 3)"), bytes_of<int32_t>({0, 1, 2, 3, 4, 5}, true))), expected));
  CHECK(at::equal(read(folder, npy(header(">f8", "(2,)"), bytes_of<double>({1.5, -2}, true))),
                  at::tensor({1.5, -2.0}, at::kDouble)));
  // The bytes of each half of a complex number are swapped separately.
  const at::Tensor complex = read(folder, npy(header(">c8", "(1,)"), bytes_of<float>({1.5F, -2}, true)));
  CHECK(complex.item<c10::complex<float>>() == c10::complex<float>(1.5F, -2));
  CHECK(read(folder, npy(header("|u1", "()"), "\x05")).item<int64_t>() == 5);
}

TEST_CASE("a file that is no array of numbers is refused with its name, the byte and the reason") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& descr) { return message(folder, npy(header(descr, "(1,)"), "abcd")); };
  CHECK(with("<i4") == "no error");
  CHECK(with("|O") == "byte 24: the array holds Python objects, which needs pickle; save numbers");
  CHECK(with("<U1") == "byte 25: the array holds text (<U1); save numbers");
  CHECK(with("<M8[ns]") == "byte 29: the array holds times (<M8[ns]); save numbers");
  CHECK(with("|V4") == "byte 25: no tensor has the dtype '|V4'; save another");
  CHECK(with("").find("no tensor has the dtype ''") != std::string::npos);
  CHECK(message(folder, npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", "abcd")) ==
        "byte 20: the array has fields by name; save each field as an array of its own");
  CHECK(message(folder, npy(header("|b1", "(3,)"), std::string("\0\1\2", 3))) == "byte 70: a bool is 2, not 0 or 1");

  const std::string good = npy(header("<i4", "(1,)"), "abcd");
  CHECK(message(folder, good.substr(0, 5)) == "not a .npy file");
  CHECK(message(folder, "PK\x03\x04xxxxxxxxxxxxx") == "not a .npy file, but a zip file: name it .npz");
  CHECK(message(folder, good.substr(0, 9)) == "the file is cut off inside its header");
  CHECK(message(folder, good.substr(0, 50)) == "the file is cut off inside its header");
  CHECK(message(folder, good.substr(0, good.size() - 1)) ==
        "byte 68: the header asks for 4 bytes of values, but there are 3");
  CHECK(message(folder, good + "x") == "byte 68: the header asks for 4 bytes of values, but there are 5");
  CHECK(message(folder, npy(header("<i4", "(1,)"), "abcd", 4)) == "byte 6: unknown version 4 of the .npy format");
  CHECK(message(folder, npy(header("<i4", "(4611686018427387904, 4)"), "abcd")) ==
        "byte 88: the header asks for more than 2^63 bytes of values, but there are 4");
  CHECK(message(folder, npy(header("<i4", "(4611686018427387904, 0, 8)"), "")).find("more than 2^63") !=
        std::string::npos);
  CHECK(message(folder, npy(header("<i4", "(99999999999999999999,)"), "")).find("too large a size") !=
        std::string::npos);
  CHECK(message(folder, npy(header("<i4", "(-1,)"), "abcd")).find("expected a size") != std::string::npos);
  CHECK(message(folder, npy("{'descr': '<i4', 'shape': (1,)}", "abcd")) ==
        "byte 41: the header is broken: it lacks descr, fortran_order or shape");
  CHECK(message(folder, npy(header("<i4", "(1,)") + "x", "abcd")).find("more behind its end") != std::string::npos);
  CHECK(message(folder, npy("{'a': 1}", "abcd")) == "byte 15: the header is broken: unknown key 'a'");
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1,";
  CHECK(message(folder, npy(header("<i4", ones + ")"), "abcd")).find("more than 64 dimensions") != std::string::npos);
}

TEST_CASE("an array in memory shares the memory if it can") {
  const std::string bytes = npy_header(at::kInt, {2}) + bytes_of<int32_t>({3, 4});
  at::Tensor memory = at::zeros({static_cast<int64_t>(bytes.size()) + 1}, at::kByte);
  auto* data = static_cast<char*>(memory.mutable_data_ptr());
  std::memcpy(data, bytes.data(), bytes.size());
  const at::Tensor shared = npy_tensor(memory.narrow(0, 0, memory.numel() - 1), "x");
  CHECK(shared.const_data_ptr() == data + 128);
  // At an odd address the values are copied.
  std::memcpy(data + 1, bytes.data(), bytes.size());
  const at::Tensor copied = npy_tensor(memory.narrow(0, 1, memory.numel() - 1), "x");
  CHECK(copied.const_data_ptr() != data + 129);
  CHECK(at::equal(copied, at::tensor({3, 4}, at::kInt)));
}

TEST_CASE("npz files are read stored and deflated, and refused if they are damaged") {
  const TemporaryFolder folder;
  const std::string a = npy_header(at::kInt, {2, 2}) + bytes_of<int32_t>({1, 2, 3, 4});
  const std::string b = npy(header("<f8", "(1,)"), bytes_of<double>({2.5}));
  for (const bool deflated : {false, true}) {
    write_zip(folder / "x.npz", {{"a.npy", a}, {"folder/b.npy", b}}, deflated);
    const auto arrays = read_npz(folder / "x.npz");
    REQUIRE(arrays.size() == 2);
    CHECK(at::equal(arrays.at("a"), at::tensor({1, 2, 3, 4}, at::kInt).reshape({2, 2})));
    CHECK(arrays.at("folder/b").item<double>() == 2.5);
  }
  const std::string path = (folder / "x.npz").string();
  const auto error = [&] { return error_text<levin::UsageError>([&] { read_npz(folder / "x.npz"); }); };
  write_zip(folder / "x.npz", {{"a.npy", a}, {"notes.txt", "hello"}}, false);
  CHECK(error() == path + ": member notes.txt is no .npy file");
  write_zip(folder / "x.npz", {{"a.npy", a.substr(0, 100)}}, false);
  CHECK(error() == path + ": member a.npy: the file is cut off inside its header");
  write_zip(folder / "x.npz", {{"a.npy", a}}, false);
  std::string bytes = read_bytes(folder / "x.npz");
  bytes[bytes.find("\x93NUMPY") + 130] ^= 1;
  write_bytes(folder / "x.npz", bytes);
  CHECK(contains(error(), "member a.npy: ZIP bad CRC"));
  write_bytes(folder / "x.npz", a);
  CHECK(error() == path + ": not a .npz file, which is a zip file");
}

TEST_CASE("changed bytes give an array of the file's size or an error, never anything else") {
  const TemporaryFolder folder;
  const std::string good = npy_header(at::kFloat, {2, 3}) + std::string(24, 'x');
  Rng rng(1, 0, 0);
  int errors = 0;
  for (int i = 0; i < 600; ++i) {
    std::string bytes = good;
    for (int64_t changes = rng.randint(1, 4); changes > 0; --changes) {
      bytes[static_cast<size_t>(rng.randint(0, 90))] = static_cast<char>(rng());
    }
    write_bytes(folder / "x", bytes);
    try {
      const size_t size = map_npy(folder / "x").nbytes();
      CHECK(size <= 24);
    } catch (const levin::UsageError&) {
      ++errors;
    }
  }
  CHECK(errors > 300);
}

TEST_CASE("an array of a npz file whose header and size contradict each other is not unpacked") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.npz").string();
  // 3 MB of zeros, with a wrong checksum: who unpacks the array to its end, says that.
  const std::string bomb = npy(header("<f4", "(2,)"), std::string(3 << 20, '\0'));
  const std::string good = npy_header(at::kInt, {2}) + bytes_of<int32_t>({3, 4});
  const auto write = [&](const std::string& name, const std::string& contents, std::optional<uint32_t> crc = {}) {
    write_bytes(
        path,
        ZipBuilder{{{.name = name + ".npy", .contents = contents, .is_deflated = true, .crc = crc, .local_crc = crc},
                    {.name = "good.npy", .contents = good, .is_deflated = true}}}
            .build());
  };
  write("a", bomb, 1);
  const std::string expected =
      path + ": member a.npy: byte 68: the header asks for 8 bytes of values, but there are 3145728";
  CHECK(error_text<levin::UsageError>([&] { read_npz(path); }) == expected);
  CHECK(error_text<levin::UsageError>([&] { npz_headers(path); }) == expected);
  std::string long_header = npy(header("<f4", "(2,)") + std::string(60'000, ' '), std::string(8, '\0'));
  write("a", long_header);
  CHECK(npz_headers(path).at("a").shape == std::vector<int64_t>{2});
  long_header[6] = 2;  // in this version the length has four bytes
  write("a", long_header);
  CHECK(contains(error_text<levin::UsageError>([&] { npz_headers(path); }), "byte 8: a header of "));
}

TEST_CASE("of a npz file only those arrays are unpacked that are asked for") {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.npz").string();
  const std::string good = npy_header(at::kInt, {2}) + bytes_of<int32_t>({3, 4});
  const std::string large = npy(header("|u1", "(3145728,)"), std::string(3 << 20, '\0'));
  write_bytes(path, ZipBuilder{{{.name = "large.npy", .contents = large, .is_deflated = true, .crc = 1, .local_crc = 1},
                                {.name = "good.npy", .contents = good, .is_deflated = true}}}
                        .build());
  const auto headers = npz_headers(path);
  CHECK(headers.at("large").shape == std::vector<int64_t>{3 << 20});
  CHECK(headers.at("good").dtype == at::kInt);
  const auto arrays = read_npz(path, {"good"});
  REQUIRE(arrays.size() == 1);
  CHECK(at::equal(arrays.at("good"), at::tensor({3, 4}, at::kInt)));
  CHECK(contains(error_text<levin::UsageError>([&] { read_npz(path); }), "member large.npy: ZIP bad CRC"));
}
