#pragma once
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/tar.h>
#include <levin/data/files/npy_header.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/data/files/archive_writer.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

/// Tar files for tests, and readers of their samples.
namespace tar_fixture {

using levin::Batch;
using levin::data::Rng;
using levin::data::SampleStream;
using levin::data::StreamOptions;
using levin::data::TarDataset;
using levin::data::TarDatasetOptions;
using levin::testing::sorted;

inline std::string npy_bytes(const at::Tensor& values) {
  return levin::data::npy_header(values.scalar_type(), values.sizes().vec()) +
         std::string(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
}

inline std::string numbered(int64_t number) { return std::to_string(number / 10) + std::to_string(number % 10); }

/// Shards of samples with the numbers 0, 1, ..., `per_shard` in each. 03.npy holds [3, 3, 3, 3], 03.cls holds 3.
struct Shards {
  Shards(int64_t shards, int64_t per_shard, bool compressed = false) : count(shards * per_shard) {
    for (int64_t shard = 0; shard < shards; ++shard) {
      ArchiveMembers members;
      for (int64_t i = 0; i < per_shard; ++i) {
        const int64_t number = shard * per_shard + i;
        members.emplace_back(numbered(number) + ".npy", npy_bytes(at::full({4}, number, at::kFloat)));
        members.emplace_back(numbered(number) + ".cls", std::to_string(number) + "\n");
      }
      const std::string bytes = tar_bytes(members);
      std::ofstream(folder / name(shard, compressed), std::ios::binary) << (compressed ? gzip_bytes(bytes) : bytes);
    }
    pattern = (folder / ("s-*.tar" + std::string(compressed ? ".gz" : ""))).string();
  }
  static std::string name(int64_t shard, bool compressed) {
    return "s-" + numbered(shard) + ".tar" + (compressed ? ".gz" : "");
  }
  int64_t count;
  TemporaryFolder folder = {};
  std::string pattern;
};

/// Returns the numbers of the remaining samples of a stream, at most `most`.
inline std::vector<int64_t> numbers(const TarDataset& data, SampleStream& stream, int64_t most = 1000) {
  std::vector<int64_t> found;
  while (static_cast<int64_t>(found.size()) < most) {
    std::optional<Batch> sample = stream.next();
    if (!sample) break;
    std::vector<Rng> rngs = {Rng(0, 0, 0)};
    Batch batch;
    data.make_batch({*sample}, rngs, batch);
    found.push_back(batch.target().item<int64_t>());
    CHECK(at::equal(batch.input(), at::full({1, 4}, found.back(), at::kFloat)));
  }
  return found;
}

inline std::vector<int64_t> numbers(const TarDataset& data, const StreamOptions& options) {
  return numbers(data, *data.open(options));
}

inline std::vector<int64_t> up_to(int64_t count) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

/// A shard with these members.
class OneShard {
 public:
  explicit OneShard(const ArchiveMembers& members) { std::ofstream(path(), std::ios::binary) << tar_bytes(members); }
  std::string path() const { return (folder_ / "a.tar").string(); }
  TarDataset dataset(TarDatasetOptions options = {}) const { return TarDataset({path()}, std::move(options)); }
  Batch batch(TarDatasetOptions options = {}) const {
    const TarDataset data = dataset(std::move(options));
    const auto stream = data.open({});
    std::vector<Batch> samples;
    std::vector<Rng> rngs;
    while (auto sample = stream->next()) {
      samples.push_back(*sample);
      rngs.emplace_back(0, 0, static_cast<int64_t>(rngs.size()));
    }
    Batch out;
    data.make_batch(samples, rngs, out);
    return out;
  }
  /// Returns the error message, without the folder in front.
  std::string error(TarDatasetOptions options = {}) const {
    const std::string text = error_text<levin::UsageError>([&] { batch(std::move(options)); });
    const std::string before = folder_.path().string() + "/";
    return text.rfind(before, 0) == 0 ? text.substr(before.size()) : text;
  }

 private:
  TemporaryFolder folder_ = {};
};

}  // namespace tar_fixture
