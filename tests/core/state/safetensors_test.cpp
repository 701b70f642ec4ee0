#include <levin/core/state/safetensors.h>
#include <torch/torch.h>

#include <cstring>
#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::load_safetensors;
using levin::save_safetensors;
using levin::State;
using levin::UsageError;

namespace {

std::string length_bytes(uint64_t length) {
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes;
}

/// Returns the bytes of a file with this header and `data` zeros after it.
std::string file_of(const std::string& header, size_t data = 0) {
  return length_bytes(header.size()) + header + std::string(data, '\0');
}

std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.safetensors";
  write_bytes(path, bytes);
  std::string text = error_text<UsageError>([&] { load_safetensors(path); });
  const std::string name = path.string() + ": ";
  return text.starts_with(name) ? text.substr(name.size()) : "without the file's name: " + text;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

}  // namespace

TEST_CASE("tensors and metadata come back from a safetensors file") {
  const TemporaryFolder folder;
  const at::Tensor base = torch::arange(12.0).view({3, 4});
  const State state = State::dict({{"flag", torch::tensor({true, false, true})},
                                   {"base", base},
                                   {"transposed", base.t()},
                                   {"conjugate", torch::conj(torch::complex(base, base))},
                                   {"half", torch::ones({3}, torch::kHalf)},
                                   {"steps", torch::tensor(7)},
                                   {"none", torch::empty({2, 0})},
                                   {"parameter", torch::ones({2}, torch::requires_grad())},
                                   {int64_t{5}, torch::zeros({1}, torch::kByte)}});
  save_safetensors(state, folder / "a.safetensors", {{"note", "x"}});
  levin::SafetensorsMetadata metadata;
  const State back = load_safetensors(folder / "a.safetensors", &metadata);
  CHECK(metadata == levin::SafetensorsMetadata{{"note", "x"}});
  REQUIRE(back.size() == state.size());
  for (const auto& [key, value] : state.to_dict()) {
    const at::Tensor& tensor = back.at(levin::to_text(key)).to_tensor();
    INFO(levin::to_text(key));
    CHECK(tensor.scalar_type() == value.to_tensor().scalar_type());
    CHECK(torch::equal(tensor, value.to_tensor()));
    CHECK(tensor.is_contiguous());
    CHECK_FALSE(tensor.requires_grad());
  }
  CHECK(levin::is_safetensors_file(folder / "a.safetensors"));
}

TEST_CASE("what is written to a tensor of a mapped file stays in the process") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.safetensors";
  save_safetensors(State::dict({{"w", torch::ones({1000})}}), path);
  const std::string before = read_bytes(path);
  at::Tensor tensor = load_safetensors(path).at("w").to_tensor();
  tensor.fill_(2);
  CHECK(read_bytes(path) == before);
  // The file can be replaced while its tensors live.
  save_safetensors(State::dict({{"w", tensor}}), path);
  CHECK(tensor.sum().item<float>() == 2000);
  CHECK(load_safetensors(path).at("w").to_tensor().sum().item<float>() == 2000);
}

TEST_CASE("tensors that are not aligned are read all the same") {
  const std::string header = entry("F64", "[1]", "[0,8]");
  const TemporaryFolder folder;
  for (size_t spaces = 0; spaces < 8; ++spaces) {
    const double value = 1.5;
    std::string bytes = file_of(header + std::string(spaces, ' '));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    write_bytes(folder / "a", bytes);
    CHECK(load_safetensors(folder / "a").at("a").to_tensor().item<double>() == value);
  }
}

TEST_CASE("a bool is 0 or 1 whatever the file says") {
  const TemporaryFolder folder;
  write_bytes(folder / "a", file_of(entry("BOOL", "[3]", "[0,3]")) + std::string("\x00\x01\x07", 3));
  CHECK(load_safetensors(folder / "a").at("a").to_tensor().to(torch::kInt).sum().item<int>() == 2);
}

TEST_CASE("a safetensors file that lies is refused with the place") {
  CHECK(refusal("") == "no safetensors file, it has only 0 bytes");
  CHECK(refusal("1234") == "no safetensors file, it has only 4 bytes");
  CHECK(refusal(length_bytes(100'000'001)) ==
        "no safetensors file: its first 8 bytes give a header of 100000001 bytes");
  CHECK(refusal(length_bytes(10) + "{}") == "damaged: its header should have 10 bytes, the file ends after 2 of them");
  CHECK(refusal(file_of("{\"a\":")) == "damaged, its header is no JSON text (byte 14 of the file)");
  CHECK(refusal(file_of("[]")) == "damaged, its header is no JSON object");
  CHECK(refusal(file_of("{\"a\":1}")) == "damaged, tensor a: its header is no JSON object");
  CHECK(refusal(file_of("{\"__metadata__\":{\"a\":1}}")) == "damaged, __metadata__.a is no text");
  CHECK(refusal(file_of("{\"a\":{}}")) == "damaged, tensor a: its header lacks dtype");
  CHECK(contains(refusal(file_of(entry("F4", "[1]", "[0,1]"), 1)),
                 "tensor a has dtype F4, which levin cannot read; it reads F32, "));
  CHECK(refusal(file_of(entry("F32", "[-1]", "[0,4]"), 4)) ==
        "damaged, tensor a: shape holds -1, not a whole number from 0 on");
  CHECK(refusal(file_of(entry("F32", "[1]", "[0,4]"), 3)) ==
        "damaged, tensor a: data_offsets [0, 4] do not lie in the file's 3 bytes of data; is the file cut off?");
  CHECK(refusal(file_of(entry("F32", "[1]", "[4,0]"), 4)) ==
        "damaged, tensor a: data_offsets [4, 0] do not lie in the file's 4 bytes of data; is the file cut off?");
  CHECK(refusal(file_of(entry("F32", "[2]", "[0,4]"), 4)) ==
        "damaged, tensor a: shape [2] of F32 needs 8 bytes, its data_offsets give 4");
  CHECK(refusal(file_of(entry("F32", "[4611686018427387904,4611686018427387904]", "[0,0]"))) ==
        "damaged, tensor a: its shape is too large");
  CHECK(refusal(file_of(entry("F32", "[1]", "[4,8]"), 8)) ==
        "damaged, tensor a: begins at byte 4 of the data, where 0 was expected: there is a gap");
  CHECK(refusal(file_of(entry("F32", "[1]", "[0,4]"), 8)) == "damaged, its tensors end at byte 4 of 8 bytes of data");
  CHECK(refusal(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                        R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                        3)) ==
        "damaged, tensor b: begins at byte 1 of the data, where 2 was expected: there is an overlap");
  CHECK(contains(error_text<UsageError>([] { load_safetensors("none.safetensors"); }), "there is no such file"));
  CHECK(contains(error_text<UsageError>([] { load_safetensors("/"); }), "a file was expected, this is a folder"));
}

TEST_CASE("a safetensors file cut or changed anywhere is read or refused") {
  const TemporaryFolder folder;
  save_safetensors(State::dict({{"w", torch::ones({2, 2})}, {"b", torch::ones({1}, torch::kBool)}}), folder / "whole");
  const std::string whole = read_bytes(folder / "whole");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) CHECK(refusal(whole.substr(0, bytes)) != "no error");
  for (size_t at = 0; at < whole.size(); ++at)
    for (const char change : {'\x01', '\x20', '\x80'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      write_bytes(folder / "changed", changed);
      try {
        for (const auto& item : load_safetensors(folder / "changed").to_dict()) item.second.to_tensor().sum();
      } catch (const UsageError&) {
      }
    }
}

TEST_CASE("what a safetensors file cannot hold is named") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.safetensors";
  const auto refused = [&](const State& state) {
    return error_text<UsageError>([&] { save_safetensors(state, path); });
  };
  const std::string name = path.string() + ": ";
  CHECK(refused(State::list()) == name + "a dict of tensors was expected, this is a list");
  CHECK(refused(State::dict({{"epoch", 1}})) ==
        name + "epoch is a int: a safetensors file holds one dict of tensors and nothing else");
  CHECK(refused(State::dict({{"a", torch::ones({1}, torch::kComplexDouble)}})) ==
        name + "a: the safetensors format has no dtype complex128");
  CHECK(contains(refused(State::dict({{"a", torch::eye(2).to_sparse()}})), "holds dense tensors"));
  CHECK(contains(refused(State::dict({{"__metadata__", torch::ones({1})}})), "can be called so"));
  CHECK(contains(refused(State::dict({{"a\xff", torch::ones({1})}})), "UTF-8"));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(contains(error_text<UsageError>([&] { save_safetensors(State::dict(), folder / "none" / "a"); }), "none"));
}
