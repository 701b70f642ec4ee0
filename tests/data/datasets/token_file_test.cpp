#include <levin/data/datasets/token_file.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/files/npy_file.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using namespace levin::data;
using levin::testing::range;
using levin::testing::values;

namespace {

using Numbers = std::vector<int64_t>;

template <class T>
std::string write_tokens(const std::filesystem::path& file, const Numbers& tokens,
                         const std::vector<int32_t>& header = {}) {
  std::ofstream out(file, std::ios::binary);
  std::vector<int32_t> fields = header;
  if (!fields.empty()) fields.resize(256);
  out.write(reinterpret_cast<const char*>(fields.data()), static_cast<std::streamsize>(4 * fields.size()));
  for (const int64_t token : tokens) {
    const T value = static_cast<T>(token);
    out.write(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return file.string();
}

Batch all_windows(const TokenFileDataset& data) {
  Batch batch;
  data.get_batch(Indices(0, data.size()), batch);
  return batch;
}

std::string error_of(const std::string& file, const TokenFileDatasetOptions& options) {
  return error_text<levin::UsageError>([&] { TokenFileDataset({file}, options); });
}

/// Token i of a long file; as large as numbers of 17 bits.
Numbers large_tokens(int64_t count) {
  Numbers tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(i * 7919 % 131072);
  return tokens;
}

}  // namespace

TEST_CASE("windows of a file of tokens are the tokens, and their targets the same one token later") {
  const TemporaryFolder folder;
  const std::string file = write_tokens<uint16_t>(folder / "t.bin", {5, 6, 7, 65535, 9, 10, 11});
  const TokenFileDataset data({file}, {.block_size = 3});
  CHECK(data.length() == 7);
  const Batch batch = all_windows(data);
  CHECK(values(batch.input()) == Numbers{5, 6, 7, 65535, 9, 10});
  CHECK(values(batch.target()) == Numbers{6, 7, 65535, 9, 10, 11});
  CHECK(batch.input().sizes() == at::IntArrayRef({2, 3}));
  CHECK_FALSE(batch.contains("position_ids"));
  CHECK(values(all_windows(TokenFileDataset({file}, {.block_size = 3, .stride = 1})).input()) ==
        Numbers{5, 6, 7, 6, 7, 65535, 7, 65535, 9, 65535, 9, 10});
  Rng rng(0, 0, 0);
  CHECK(values(data.get(1, rng).target()) == Numbers{9, 10, 11});
  CHECK(error_of(file, {.block_size = 7}) ==
        file + ": 7 tokens, but a sample of block_size 7 and its target need 7 + 1");
  Batch none;
  CHECK_THROWS_AS(data.get_batch(Indices(2, 1), none), levin::Error);
}

TEST_CASE("every format of tokens gives the same windows") {
  const TemporaryFolder folder;
  const Numbers large = large_tokens(100), small = range(100);
  const auto inputs = [&](const std::string& file, const TokenFileDatasetOptions& options = {.block_size = 99}) {
    return values(all_windows(TokenFileDataset({file}, options)).input());
  };
  const Numbers of_large(large.begin(), large.end() - 1), of_small(small.begin(), small.end() - 1);
  CHECK(inputs(write_tokens<uint16_t>(folder / "raw16", small)) == of_small);
  CHECK(inputs(write_tokens<uint32_t>(folder / "raw32", large)) == of_large);
  CHECK(inputs(write_tokens<uint32_t>(folder / "raw32s", small)) == of_small);
  CHECK(inputs(write_tokens<uint16_t>(folder / "llmc16", small, {20240520, 1, 100})) == of_small);
  CHECK(inputs(write_tokens<uint32_t>(folder / "llmc32", large, {20240801, 7, 100})) == of_large);
  CHECK(inputs(write_tokens<uint32_t>(folder / "named", small), {.block_size = 99, .dtype = "uint32"}) == of_small);
  for (const auto dtype : {at::kUInt16, at::kUInt32, at::kInt, at::kLong, at::kShort, at::kByte, at::kChar}) {
    write_npy(folder / "a.npy", at::tensor(small, at::kLong).to(dtype));
    CHECK(inputs((folder / "a.npy").string()) == of_small);
  }
}

TEST_CASE("a file of small tokens of 16 bits is not taken for one of 32 bits") {
  const TemporaryFolder folder;
  Numbers bases;
  for (int64_t i = 0; i < 200; ++i) bases.push_back(i * i % 5);
  const std::string file = write_tokens<uint16_t>(folder / "dna.bin", bases);
  CHECK(TokenFileDataset({file}, {.block_size = 9}).length() == 200);
}

TEST_CASE("position ids begin again behind a separator, whose target does not count") {
  const TemporaryFolder folder;
  const std::string file = write_tokens<uint16_t>(folder / "t.bin", {1, 2, 0, 3, 4, 5, 6, 0, 0, 7, 8});
  const Batch batch = all_windows(TokenFileDataset({file}, {.block_size = 5, .document_separator = 0}));
  CHECK(values(batch.input()) == Numbers{1, 2, 0, 3, 4, 5, 6, 0, 0, 7});
  CHECK(values(batch.target()) == Numbers{2, 0, -100, 4, 5, 6, 0, -100, -100, 8});
  CHECK(values(batch["position_ids"]) == Numbers{0, 1, 2, 0, 1, 0, 1, 2, 0, 0});
}

TEST_CASE("windows do not reach from one file of tokens into the next, and a slice keeps to its tokens") {
  const TemporaryFolder folder;
  const std::string a = write_tokens<uint16_t>(folder / "a", {0, 1, 2, 3, 4, 5});
  const std::string b = write_tokens<uint32_t>(folder / "b", {10, 11, 12, 13});
  const TokenFileDataset data({a, b}, {.block_size = 2, .dtype = "auto"});
  const TokenFileDataset with32({b}, {.block_size = 2, .dtype = "uint32"});
  CHECK(values(all_windows(with32).input()) == Numbers{10, 11});
  // Four tokens of 32 bits are too few to be told from eight of 16.
  CHECK(data.length() == 14);
  const std::string c = write_tokens<uint16_t>(folder / "c", {10, 11, 12, 13});
  const TokenFileDataset both({a, c}, {.block_size = 2, .stride = 1});
  CHECK(values(all_windows(both).input()) == Numbers{0, 1, 1, 2, 2, 3, 3, 4, 10, 11, 11, 12});
  CHECK(values(all_windows(both.slice(2, 7)).input()) == Numbers{2, 3, 3, 4, 10, 11});
  CHECK(values(all_windows(both.slice(2, 7)).target()) == Numbers{3, 4, 4, 5, 11, 12});
  CHECK(values(all_windows(both.slice(7, 3)).input()) == Numbers{11, 12});
  CHECK_THROWS_AS(both.slice(5, 2), levin::UsageError);
  CHECK_THROWS_AS(both.slice(5, 6), levin::Error);
}

TEST_CASE("files of tokens that are broken are refused by name and reason") {
  const TemporaryFolder folder;
  const TokenFileDatasetOptions small{.block_size = 2};
  const auto refuses = [&](const std::string& file, const std::string& reason, const TokenFileDatasetOptions& options) {
    const std::string error = error_of(file, options);
    INFO(error);
    CHECK(error.starts_with(file + ": "));
    CHECK(contains(error, reason));
  };
  std::ofstream(folder / "odd") << "abcde";
  refuses((folder / "odd").string(), "5 bytes of tokens are no whole number of UInt16", small);
  refuses(write_tokens<uint16_t>(folder / "six", {1, 2, 3}), "6 bytes of tokens are no whole number of UInt32",
          {.block_size = 2, .dtype = "uint32"});
  std::ofstream(folder / "empty") << "";
  refuses((folder / "empty").string(), "the file is empty", small);
  refuses((folder / "none").string(), "there is no such file", small);
  refuses(write_tokens<uint16_t>(folder / "lies", {1, 2, 3}, {20240520, 1, 4}), "says 4 tokens of UInt16, but 6 bytes",
          small);
  refuses(write_tokens<uint16_t>(folder / "negative", {1, 2, 3}, {20240520, 1, -3}), "says -3 tokens", small);
  refuses(write_tokens<uint32_t>(folder / "huge", {1, 2, 3}, {20240801, 7, 2147483647}), "says 2147483647 tokens",
          small);
  refuses(write_tokens<uint16_t>(folder / "version", {1, 2, 3}, {20240520, 2, 3}),
          "in version 2; levin reads version 1", small);
  refuses(write_tokens<uint16_t>(folder / "typed", {1, 2, 3}, {20240520, 1, 3}), "its header says UInt16",
          {.block_size = 2, .dtype = "uint32"});
  write_npy(folder / "float.npy", at::tensor({1.0F, 2.0F, 3.0F}));
  refuses((folder / "float.npy").string(), "tokens are whole numbers", small);
  write_npy(folder / "two.npy", at::tensor({1, 2, 3, 4}, at::kLong).view({2, 2}));
  refuses((folder / "two.npy").string(), "in one dimension", small);
}

TEST_CASE("TokenFile keeps the end of its tokens for validation, and each rank gets its own windows") {
  const TemporaryFolder folder;
  const std::string file = write_tokens<uint16_t>(folder / "t.bin", range(1001));
  TokenFile data({.files = {file}, .val_fraction = 0.2, .tokens = {.block_size = 10}, .batch_size = 4});
  data.setup(Stage::Fit);
  CHECK(data.dataset(Split::Train)->size() == 79);
  CHECK(data.dataset(Split::Val)->size() == 20);
  for (const int64_t world : {1, 2, 3}) {
    Numbers seen;
    for (int64_t rank = 0; rank < world; ++rank) {
      DataLoader loader(data.dataset(Split::Train), {.batch_size = 4, .shuffle = true, .seed = 3});
      loader.shard(rank, world);
      while (auto loaded = loader.next())
        for (int64_t i = 0; i < loaded->samples; ++i) seen.push_back(loaded->batch.input()[i][0].item<int64_t>() / 10);
    }
    CHECK(levin::testing::sorted(seen) == range(79));
  }
  CHECK_THROWS_AS(TokenFile({.val_files = {file}, .val_fraction = 0.1}), levin::UsageError);
  TokenFile unset(TokenFileOptions{});
  CHECK(contains(error_text<levin::UsageError>([&] { unset.setup(Stage::Fit); }), "data.files: not set"));
}
