#include <levin/core/state/format/zip_reader.h>
#include <levin/core/state/state_file.h>

#include <ATen/ATen.h>

#include <random>
#include <string>

#include "tests/catch.h"
#include "tests/core/state/zip_builder.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::load_state;
using levin::State;
using levin::ZipReader;

namespace {

/// Returns tensors of random bytes, so that any flipped bit changes a value.
State sample_state() {
  State state = State::dict({{"epoch", 3}, {"text", "some text"}});
  state["w"] = at::arange(500, at::kLong) * 0x1234567;
  state["flags"] = at::arange(20).remainder(3).to(at::kBool);
  return state;
}

State load(const std::string& bytes, const levin::LoadStateOptions& options = {}) {
  return levin::load_state_bytes(levin::copy_file_bytes(bytes, "a.pt"), options);
}

std::string outcome(const std::string& bytes, const levin::LoadStateOptions& options = {}) {
  return error_text<levin::UsageError>([&] { load(bytes, options); });
}

bool is_sample(const State& state) {
  const State sample = sample_state();
  return state.size() == sample.size() && state.at("epoch").to_int() == 3 &&
         state.at("text").to_string() == "some text" &&
         at::equal(state.at("w").to_tensor(), sample.at("w").to_tensor()) &&
         at::equal(state.at("flags").to_tensor(), sample.at("flags").to_tensor());
}

size_t place_of(const std::string& bytes, const std::string& record) {
  const ZipReader zip(bytes, "a.pt");
  return static_cast<size_t>(zip.stored(*zip.find("archive/" + record)).data() - bytes.data());
}

std::string flipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  return bytes;
}

/// Returns a state file as `zip -r` or another program packs it.
ZipBuilder repacked(const std::string& folder, bool is_deflated) {
  const std::string bytes = levin::save_state_bytes(sample_state());
  const ZipReader zip(bytes, "a.pt");
  ZipBuilder builder;
  for (const levin::ZipRecord& record : zip.records())
    builder.records.push_back({.name = folder + std::string(record.name.substr(record.name.find('/') + 1)),
                               .contents = std::string(zip.stored(record)),
                               .is_deflated = is_deflated});
  return builder;
}

}  // namespace

TEST_CASE("a state file that is cut off at any place is an error") {
  const std::string good = levin::save_state_bytes(sample_state());
  REQUIRE(is_sample(load(good)));
  for (size_t i = 0; i < 100; ++i) {
    const size_t length = i < 30 ? good.size() - 1 - i : (i - 30) * good.size() / 70;
    CAPTURE(length, good.size());
    REQUIRE(contains(outcome(good.substr(0, length)), "a.pt: "));
    if (length > 4) REQUIRE(contains(outcome(good.substr(0, length)), "(byte "));
  }
}

TEST_CASE("any bit that is flipped in a state file is an error or changes nothing") {
  const std::string good = levin::save_state_bytes(sample_state());
  size_t errors = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    const std::string text = error_text<levin::UsageError>([&] {
      if (!is_sample(load(flipped(good, bit)))) throw levin::UsageError("a value has changed");
    });
    CAPTURE(bit / 8, bit % 8, text);
    REQUIRE_FALSE(text == "a value has changed");
    errors += text != "no error";
  }
  CHECK(errors > 4 * good.size());
}

TEST_CASE("an error of a checksum names the record, the file and the byte") {
  const std::string good = levin::save_state_bytes(sample_state());
  const size_t tensor = place_of(good, "data/0"), pickle = place_of(good, "data.pkl");
  const std::string bad_tensor = flipped(good, 8 * (tensor + 1234) + 3);
  CHECK(outcome(bad_tensor) ==
        "a.pt: damaged, or not a PyTorch file: the 4000 bytes of archive/data/0 do not have their checksum (byte " +
            std::to_string(tensor) + " of the file); copy it again, or use another one");
  CHECK(contains(outcome(flipped(good, 8 * (pickle + 20))), "of archive/data.pkl do not have their checksum"));
  CHECK(outcome(bad_tensor, {.verify_checksums = false}) == "no error");
  // Records that are not requested are not read.
  const State parts = State::dict({{"a", State::dict({{"x", at::ones({4})}})}, {"b", at::ones({4}, at::kInt)}});
  const std::string two = levin::save_state_bytes(parts);
  const std::string bad_b = flipped(two, 8 * place_of(two, "data/1"));
  CHECK(load(bad_b, {.key = "a"}).contains("x"));
  CHECK(contains(outcome(bad_b), "archive/data/1"));
}

TEST_CASE("state files in any folder, packed in any way, are read") {
  for (const char* folder : {"archive/", "", "any name/", "a/b/", "\xc3\xa9/"}) {
    for (const bool is_deflated : {false, true}) {
      CAPTURE(folder, is_deflated);
      ZipBuilder zip = repacked(folder, is_deflated);
      CHECK(is_sample(load(zip.build())));
      CHECK(is_sample(load(zip.build(), {.verify_checksums = false})));
      zip.records[4].contents[7] ^= 1;
      zip.records[4].crc = zip.records[4].local_crc = 1;
      CHECK(contains(outcome(zip.build()), "do not have their checksum"));
    }
  }
}

TEST_CASE("tensors at unaligned bytes are copied to aligned memory") {
  const ZipBuilder zip = repacked("archive/", false);
  bool has_odd = false;
  for (size_t shift = 0; shift < 8; ++shift) {
    ZipBuilder shifted = zip;
    shifted.records[0].local_extra = std::string(shift, '\0');
    const std::string bytes = shifted.build();
    has_odd |= place_of(bytes, "data/0") % 16 != 0;
    const State state = load(bytes);
    CHECK(is_sample(state));
    CHECK(reinterpret_cast<uintptr_t>(state.at("w").to_tensor().const_data_ptr()) % 16 == 0);
  }
  CHECK(has_odd);
}

TEST_CASE("a file may not unpack to much more than its size") {
  const auto bomb = [](size_t count, size_t bytes) {
    ZipBuilder zip;
    const std::string good = levin::save_state_bytes(
        State::list(std::vector<State>(count, State(at::zeros({static_cast<int64_t>(bytes)}, at::kByte)))));
    const ZipReader read(good, "a.pt");
    for (const levin::ZipRecord& record : read.records())
      zip.records.push_back(
          {.name = std::string(record.name), .contents = std::string(read.stored(record)), .is_deflated = true});
    return zip;
  };
  CHECK(outcome(bomb(1, 40 << 20).build()) == "no error");
  const std::string large = outcome(bomb(1, 70 << 20).build());
  CHECK(contains(large, "archive/data/0 unpacks to 73400320 bytes, and a file may grow by 64 MB"));
  ZipBuilder lie = bomb(1, 1000);
  lie.records[4].bytes = 4'000'000'000;
  lie.records[4].flags = 8;
  CHECK(contains(outcome(lie.build()), "claims to unpack to 4000000000"));
}

TEST_CASE("tensors are views of the file, and what is written to them stays in this process") {
  const TemporaryFolder folder;
  save_state(sample_state(), folder / "a.pt");
  const std::string before = read_bytes(folder / "a.pt");
  const State state = load_state(folder / "a.pt");
  CHECK_FALSE(state.at("w").to_tensor().storage().resizable());
  state.at("w").to_tensor().fill_(-1);
  CHECK(read_bytes(folder / "a.pt") == before);
  CHECK(is_sample(load_state(folder / "a.pt")));
  at::Tensor kept;
  {
    const State again = load_state(folder / "a.pt", {.verify_checksums = false});
    kept = again.at("w").to_tensor();
  }
  std::filesystem::remove(folder / "a.pt");
  CHECK(at::equal(kept, sample_state().at("w").to_tensor()));
}

TEST_CASE("bool tensors hold 0 and 1, whatever the file has") {
  ZipBuilder zip = repacked("archive/", false);
  REQUIRE(zip.records[5].name == "archive/data/1");
  zip.records[5].contents[0] = '\x7f';
  const at::Tensor flags = load(zip.build()).at("flags").to_tensor();
  CHECK(flags.view(at::kByte)[0].item<int>() == 1);
}

TEST_CASE("random changes of a state file are an error or changes nothing") {
  const std::string good = levin::save_state_bytes(sample_state());
  std::mt19937 random(17);
  for (int i = 0; i < 5'000; ++i) {
    std::string changed = good;
    const size_t at = random() % good.size(), count = 1 + random() % 40;
    for (size_t k = at; k < std::min(good.size(), at + count); ++k) changed[k] = static_cast<char>(random());
    if (random() % 2) changed.erase(random() % good.size(), random() % 8);
    const std::string text = error_text<levin::UsageError>([&] {
      if (!is_sample(load(changed))) throw levin::UsageError("a value has changed");
    });
    CAPTURE(at, count, text);
    REQUIRE_FALSE(text == "a value has changed");
  }
}
