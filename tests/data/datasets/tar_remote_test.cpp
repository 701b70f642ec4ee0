#include <levin/data/data_loader.h>
#include <levin/data/datasets/readers/shard_cache.h>
#include <levin/data/datasets/readers/tar_shards.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/data/datasets/shard_server.h"
#include "tests/data/datasets/tar_fixture.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"

using namespace tar_fixture;
using levin::State;
using levin::data::DataLoader;
using levin::data::DataLoaderOptions;
using levin::testing::rest_of;
namespace fs = std::filesystem;

namespace {

using Answer = ShardServer::Answer;
using Request = ShardServer::Request;
using List = std::vector<int64_t>;

/// Shards in local files, the same at URLs of a server, and an empty cache for these.
struct Both {
  explicit Both(int64_t count, int64_t per_shard = 6, bool compressed = false)
      : shards(count, per_shard, compressed), server([this](const Request& request) { return answer(request); }) {
    ::setenv("LEVIN_REMOTE_RETRIES", "1", 1);
    for (int64_t i = 0; i < count; ++i) {
      files.push_back((shards.folder / Shards::name(i, compressed)).string());
      urls.push_back(server.url("/" + Shards::name(i, compressed)));
    }
  }
  Answer answer(const Request& request) const {
    if (wrong)
      if (const auto other = wrong(request)) return *other;
    return {.body = read_bytes(shards.folder.path() / request.path.substr(1)), .version = "v1"};
  }
  TarDatasetOptions options(int64_t cache_bytes = 1 << 30, int64_t ahead = 4) const {
    return {
        .shard_options = {.prefetch_shards = ahead, .cache_folder = cache.path().string(), .cache_bytes = cache_bytes}};
  }
  std::vector<fs::path> cached() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(cache.path()))
      if (entry.path().extension() == ".shard") found.push_back(entry.path());
    return found;
  }
  int64_t cached_bytes() const {
    int64_t sum = 0;
    for (const fs::path& path : cached()) {
      std::error_code removed;  // the stream removes files while they are counted
      if (const auto bytes = fs::file_size(path, removed); !removed) sum += static_cast<int64_t>(bytes);
    }
    return sum;
  }

  Shards shards;
  std::function<std::optional<Answer>(const Request&)> wrong = {};
  TemporaryFolder cache = {};
  std::vector<std::string> files = {}, urls = {};
  ShardServer server;
};

int64_t bytes_of_shard(const Both& both) { return static_cast<int64_t>(fs::file_size(both.files[0])); }

}  // namespace

TEST_CASE("shards at URLs give the samples of the same files, in the same order") {
  for (const bool compressed : {false, true}) {
    const Both both(7, 4, compressed);
    for (const int64_t buffer : {0, 9}) {
      TarDatasetOptions options = both.options();
      options.shuffle_buffer = buffer;
      const TarDataset local(both.files, options), remote(both.urls, options);
      for (const int64_t world : {1, 2, 3, 9}) {
        for (int64_t rank = 0; rank < world; ++rank) {
          const StreamOptions part{.seed = 3, .epoch = 2, .shuffle = true, .rank = rank, .world = world};
          CHECK(numbers(remote, part) == numbers(local, part));
        }
      }
      CHECK(numbers(remote, {}) == up_to(28));
    }
    CHECK(both.server.requests("GET") == 7);
  }
}

TEST_CASE("a loader of shards at URLs resumes inside an epoch at the next sample") {
  const Both both(6, 5);
  for (const int64_t workers : {0, 2}) {
    TarDatasetOptions tar = both.options();
    tar.shuffle_buffer = 7;
    const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 5};
    const auto local = std::make_shared<const TarDataset>(both.files, tar);
    DataLoader whole(local, options);
    const List expected = rest_of(whole);
    CHECK(sorted(expected) == up_to(30));
    for (int64_t batches = 0; batches <= 8; batches += 2) {
      DataLoader first(std::make_shared<const TarDataset>(both.urls, tar), options);
      DataLoader second(std::make_shared<const TarDataset>(both.urls, tar), options);
      for (int64_t i = 0; i < batches; ++i) first.next();
      if (batches > 0) second.load_state_dict(first.state_dict());
      CHECK(rest_of(second) == List(expected.begin() + std::min<int64_t>(30, 4 * batches), expected.end()));
    }
  }
}

TEST_CASE("samples divided among ranks resume on another number of ranks, each once, in one order") {
  const Both both(5, 6);
  for (const int64_t workers : {0, 2}) {
    TarDatasetOptions tar = both.options();
    tar.shuffle_buffer = 8;
    tar.shard_options.ranks_take = "samples";
    const auto data = std::make_shared<const TarDataset>(both.urls, tar);
    CHECK_FALSE(data->divides_among_ranks());
    const auto loader = [&](int64_t rank, int64_t world) {
      DataLoader made(data, {.batch_size = 6 / world, .shuffle = true, .num_workers = workers, .seed = 1});
      made.shard(rank, world);
      return made;
    };
    DataLoader alone = loader(0, 1);
    const List expected = rest_of(alone);
    std::vector<State> states;
    List seen;
    const auto take = [&](DataLoader& from, List& to) {
      for (const int64_t value : levin::testing::values(from.next()->batch.target())) to.push_back(value);
    };
    std::vector<DataLoader> three = {loader(0, 3), loader(1, 3), loader(2, 3)};
    for (int64_t round = 0; round < 2; ++round)
      for (DataLoader& one : three) take(one, seen);
    std::vector<DataLoader> two = {loader(0, 2), loader(1, 2)};
    for (DataLoader& one : two) one.load_state_dict(three.front().state_dict());
    for (int64_t round = 0; round < 3; ++round)
      for (DataLoader& one : two) take(one, seen);
    for (DataLoader& one : two) CHECK_FALSE(one.next());
    CHECK(seen == expected);
    CHECK(sorted(seen) == up_to(30));
  }
}

TEST_CASE("a cache keeps to its bytes, removes what was used least recently, and nothing that is read") {
  const Both both(9);
  const int64_t shard = bytes_of_shard(both), most = 3 * shard;
  const TarDataset data(both.urls, both.options(most, 2));
  const auto stream = data.open({});
  List seen;
  while (true) {
    const List next = numbers(data, *stream, 1);
    if (next.empty()) break;
    seen.push_back(next[0]);
    CHECK(both.cached_bytes() <= most);
  }
  CHECK(seen == up_to(54));
  CHECK(both.server.requests("GET") == 9);
  // The last shards are there still; the first was removed.
  CHECK(numbers(TarDataset({both.urls[8]}, both.options(most)), {}).size() == 6);
  CHECK(both.server.requests("GET") == 9);
  CHECK(numbers(TarDataset({both.urls[0]}, both.options(most)), {}).size() == 6);
  CHECK(both.server.requests("GET") == 10);

  // What is read stays, though others need its room.
  const TarDataset held({both.urls[3]}, both.options(most)), others(both.urls, both.options(most, 2));
  const auto reading = held.open({});
  CHECK(numbers(held, *reading, 2) == List{18, 19});
  CHECK(numbers(others, {}) == up_to(54));
  const int64_t before = both.server.requests("GET");
  CHECK(numbers(held, {}) == List{18, 19, 20, 21, 22, 23});
  CHECK(both.server.requests("GET") == before);
  CHECK(numbers(held, *reading) == List{20, 21, 22, 23});
}

TEST_CASE("a cache that is too small for one shard says so, and the stream continues") {
  const Both both(3);
  const CapturedStderr captured;
  const TarDataset data(both.urls, both.options(1));
  CHECK(numbers(data, {}) == up_to(18));
  CHECK(occurrences(captured.text(), "data.cache_bytes: the shards that are read at once take") == 1);
}

TEST_CASE("a cached file that is cut, or not the object's, is fetched again; files of others stay") {
  const Both both(2);
  const TarDataset data(both.urls, both.options());
  CHECK(numbers(data, {}) == up_to(12));
  fs::resize_file(both.cached().front(), 1000);
  std::ofstream(both.cached().back()) << "not a shard";
  std::ofstream(both.cache / "own.tar") << "of the user";
  CHECK(numbers(data, {}) == up_to(12));
  CHECK(both.server.requests("GET") == 4);
  CHECK(numbers(TarDataset(both.urls, both.options(1)), {}) == up_to(12));
  CHECK(fs::exists(both.cache / "own.tar"));
}

TEST_CASE("several readers of one cache fetch each shard once") {
  const Both both(6);
  std::vector<std::thread> readers;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      const TarDataset data(both.urls, both.options());
      const auto stream = data.open({});
      int64_t count = 0;
      while (stream->next()) ++count;
      good += count == 36;
    });
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(good == 4);
  CHECK(both.server.requests("GET") == 6);
  CHECK(both.cached().size() == 6);
}

TEST_CASE("a failing, cut or late answer is asked for again") {
  Both both(3);
  both.wrong = [&](const Request& request) -> std::optional<Answer> {
    const std::string body = read_bytes(both.files[0]);
    if (request.path == "/s-00.tar" && request.method == "HEAD" && request.number == 0)
      return Answer{.status = "503 Service Unavailable"};
    if (request.path == "/s-00.tar" && request.method == "GET" && request.number == 0)
      return Answer{.body = body, .version = "v1", .cut_after = 700};
    return {};
  };
  CHECK(numbers(TarDataset(both.urls, both.options()), {}) == up_to(18));
}

TEST_CASE("what cannot be read is named by its URL without credentials, after the samples before it") {
  Both both(3);
  std::string with_password = both.urls[1];
  with_password.insert(with_password.find("127"), "user:secret@");
  const std::string refused =
      error_text<levin::UsageError>([&] { numbers(TarDataset({with_password}, both.options()), {}); });
  CHECK(contains(refused, "a URL with a password or keys was given"));
  CHECK_FALSE(contains(refused, "secret"));
  const TarDataset data({both.urls[0], both.urls[1] + "?signature=secret", both.urls[2]}, both.options());
  for (const std::string status : {"404 Not Found", "500 Internal Server Error"}) {
    both.wrong = [&](const Request& request) -> std::optional<Answer> {
      if (request.path.starts_with("/s-01.tar")) return Answer{.status = status};
      return {};
    };
    const auto stream = data.open({});
    CHECK(numbers(data, *stream, 6) == up_to(6));
    const std::string error = error_text([&] { numbers(data, *stream, 1); });
    INFO(error);
    CHECK(contains(error, both.urls[1]));
    CHECK_FALSE(contains(error, "secret"));
  }
  // The tar file itself is broken.
  both.wrong = [&](const Request& request) -> std::optional<Answer> {
    if (request.path.starts_with("/s-01.tar")) return Answer{.body = std::string(3000, 'x'), .version = "v1"};
    return {};
  };
  const TarDataset broken({both.urls[1]}, both.options());
  const std::string error = error_text<levin::UsageError>([&] { numbers(broken, {}); });
  CHECK(error.starts_with(both.urls[1] + ": byte 0: "));
}

TEST_CASE("an object that becomes another one while a run reads it is named") {
  Both both(2);
  const int64_t shard = bytes_of_shard(both);
  const TarDataset data(both.urls, both.options(shard, 0));
  CHECK(numbers(data, {}) == up_to(12));
  both.wrong = [&](const Request& request) -> std::optional<Answer> {
    return Answer{.body = read_bytes(both.shards.folder.path() / request.path.substr(1)), .version = "v2"};
  };
  const std::string error = error_text([&] { numbers(data, {}); });
  INFO(error);
  CHECK(contains(error, both.urls[0] + ": has changed since it was first read"));
  // A new run reads the object as it is now.
  CHECK(numbers(TarDataset(both.urls, both.options()), {}) == up_to(12));
}

TEST_CASE("shards are named by lists, braces and indices, local or at URLs") {
  Both both(3);
  const std::string braces = both.server.url("/s-{00..02}.tar?key=*");
  CHECK(levin::data::find_tar_shards({braces}, "data.shards") ==
        std::vector<std::string>{both.urls[0] + "?key=*", both.urls[1] + "?key=*", both.urls[2] + "?key=*"});
  std::ofstream(both.shards.folder / "index.txt") << "# shards\ns-{00..01}.tar\r\n\n  s-02.tar";
  std::ofstream(both.shards.folder / "index.json") << R"({"shardlist": [{"url": "s-00.tar", "nsamples": 6}, {"url": ")"
                                                   << both.files[1] << R"("}, {"url": ")" << both.urls[2] << R"("}]})";
  CHECK(levin::data::find_tar_shards({(both.shards.folder / "index.txt").string()}, "data.shards") == both.files);
  CHECK(levin::data::find_tar_shards({both.server.url("/index.txt?a=b")}, "data.shards") == both.urls);
  CHECK(levin::data::find_tar_shards({(both.shards.folder / "index.json").string()}, "data.shards") ==
        std::vector<std::string>{both.files[0], both.files[1], both.urls[2]});
  CHECK(levin::data::find_tar_shards({"file://" + both.files[0]}, "data.shards") ==
        std::vector<std::string>{both.files[0]});
  for (const std::string text : {"{}", "[1]", "[[[", "", "[]"}) {
    std::ofstream(both.shards.folder / "bad.json") << text;
    CHECK(contains(error_text<levin::UsageError>([&] {
                     levin::data::find_tar_shards({(both.shards.folder / "bad.json").string()}, "data.shards");
                   }),
                   "bad.json: "));
  }
  CHECK(contains(
      error_text<levin::UsageError>([&] { levin::data::find_tar_shards({braces, both.urls[1] + "?key=*"}, "x"); }),
      "s-01.tar?... comes twice"));
}
