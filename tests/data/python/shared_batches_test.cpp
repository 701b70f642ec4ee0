#include <levin/data/python/shared_batches.h>
#include <levin/core/system/error.h>
#include <sys/mman.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"

using levin::Batch;
using levin::data::Descriptor;
using levin::data::SharedBatches;
using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kBytes = 4096;

Descriptor memory(int64_t bytes = kBytes) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  REQUIRE(ftruncate(file.number(), bytes) == 0);
  return file;
}

Json field(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset = 0,
           const char* dtype = "float32") {
  return {{"name", "input"}, {"dtype", dtype}, {"sizes", sizes}, {"strides", strides}, {"offset", offset}};
}

Json answer(const Json& fields, int64_t buffer = 1) {
  return {{"buffer", buffer}, {"bytes", kBytes}, {"dropped", Json::array()}, {"fields", fields}};
}

}  // namespace

TEST_CASE("a batch lies in the memory that Python wrote, which is returned once nobody has it") {
  SharedBatches batches;
  Batch first = batches.take(answer(Json::array({field({2, 3}, {3, 1}, 64)})), memory());
  const at::Tensor kept = first.input().select(0, 1);
  first.input().fill_(2);
  Batch again = batches.take(answer(Json::array({field({1, 2, 3}, {0, 1, 2}, 64)})), {});
  CHECK(again.input().data_ptr() == first.input().data_ptr());
  CHECK(again.input().strides() == at::IntArrayRef({0, 1, 2}));
  CHECK(again.input().sum().item<float>() == 12);
  first = again = Batch();
  CHECK(batches.released() == std::vector<int64_t>{1});  // the second one's; a row of the first is kept
  CHECK(kept[0].item<float>() == 2);
}

TEST_CASE("a batch from Python has the fields of the one before if nothing else is said") {
  SharedBatches batches;
  const Json short_answer = {{"buffer", 1}};
  batches.take(answer(Json::array({field({2, 3}, {3, 1}, 64)})), memory());
  CHECK(batches.take(short_answer, {}).input().sizes() == at::IntArrayRef({2, 3}));
  batches.take(answer(Json::array({field({4}, {1})})), {});
  CHECK(batches.take(short_answer, {}).input().sizes() == at::IntArrayRef({4}));
  const Json other = {{"buffer", 2}, {"bytes", 8}, {"dropped", Json::array()}};
  CHECK_THROWS_WITH(batches.take(other, memory(8)), Catch::Matchers::Contains("does not fit its memory of 8 bytes"));
}

TEST_CASE("a batch from Python without fields is refused") {
  SharedBatches batches;
  CHECK_THROWS_WITH(batches.take({{"buffer", 1}, {"bytes", kBytes}, {"dropped", Json::array()}}, memory()),
                    "Python sent a batch without its fields");
}

TEST_CASE("a list in a batch from Python has the fields of each sample") {
  SharedBatches batches;
  const Json item = {
      {"name", "boxes"},
      {"items", Json::array({Json::array({field({0, 4}, {4, 1})}), Json::array({field({2, 4}, {4, 1})})})}};
  const Batch batch = batches.take(answer(Json::array({item})), memory());
  REQUIRE(batch.list("boxes").size() == 2);
  CHECK(batch.list("boxes")[0].input().sizes() == at::IntArrayRef({0, 4}));
}

TEST_CASE("a batch from Python that does not fit its memory is refused") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto refuses = [](const Json& one, const std::string& text) {
    SharedBatches batches;
    CHECK_THROWS_WITH(batches.take(answer(Json::array({one})), memory()), Catch::Matchers::Contains(text));
  };
  const std::string fits = "does not fit its memory of 4096 bytes";
  refuses(field({1025}, {1}), fits);
  refuses(field({1}, {1}, 4096), fits);
  refuses(field({1}, {1}, -4), fits);
  refuses(field({1}, {1}, 2), fits);
  refuses(field({-1}, {1}), fits);
  refuses(field({2}, {-1}), fits);
  refuses(field({2, 2}, {1}), fits);
  refuses(field({2}, {kMost}), fits);
  refuses(field({kMost, kMost}, {1, 1}), fits);
  refuses(field(std::vector<int64_t>(65, 1), std::vector<int64_t>(65, 1)), fits);
  refuses(field({1}, {1}, 0, "object"), "is of object, which levin's batches do not have");
}

TEST_CASE("a buffer that Python has not sent, or that is smaller than it says, is refused") {
  SharedBatches batches;
  const Json fields = Json::array({field({1}, {1})});
  CHECK_THROWS_WITH(batches.take(answer(fields, 7), {}), "Python named a buffer 7 that it has not sent");
  CHECK_THROWS_WITH(batches.take(answer(fields), memory(100)), "Python sent no memory of 4096 bytes");
}
