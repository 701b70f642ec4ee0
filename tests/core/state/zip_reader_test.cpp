#include <levin/core/state/format/zip_reader.h>

#include <string>

#include "tests/catch.h"
#include "tests/core/state/zip_builder.h"
#include "tests/error_text.h"

using levin::ZipReader;

namespace {

/// Returns the error message of reading all records.
std::string outcome_of_bytes(const std::string& bytes) {
  return error_text<levin::UsageError>([&] {
    const ZipReader zip(bytes, "a.pt");
    for (const levin::ZipRecord& record : zip.records()) {
      if (record.method == levin::zip::kStored) {
        zip.check(record, levin::crc32_of(zip.stored(record)));
        continue;
      }
      std::string contents(record.bytes, '\0');
      zip.inflate(record, contents.data());
      zip.check(record, levin::crc32_of(contents));
    }
  });
}

ZipBuilder two_records() { return {{{.name = "x/a", .contents = "first"}, {.name = "x/b", .contents = "second"}}}; }

std::string outcome_with(void (*change)(ZipBuilder& zip)) {
  ZipBuilder zip = two_records();
  change(zip);
  return outcome_of_bytes(zip.build());
}

}  // namespace

TEST_CASE("a zip archive of other programs is read") {
  ZipBuilder zip = two_records();
  zip.records.push_back({.name = "x/packed", .contents = std::string(1000, 'p'), .is_deflated = true});
  zip.records.push_back({.name = "x/none", .is_deflated = true});
  zip.records.push_back({.name = "folder/"});
  zip.comment = "a comment with PK\x05\x06 in it, and no more";
  const std::string bytes = zip.build();
  const ZipReader reader(bytes, "a.pt");
  REQUIRE(reader.records().size() == 5);
  CHECK(reader.stored(*reader.find("x/a")) == "first");
  CHECK(reader.stored(*reader.find("x/b")) == "second");
  CHECK(reader.find("x/c") == nullptr);
  CHECK(outcome_of_bytes(bytes) == "no error");
  zip.comment = "";
  zip.behind = "padding";
  CHECK(outcome_of_bytes(zip.build()) == "no error");
  CHECK(outcome_of_bytes(ZipBuilder().build()) == "no error");
}

TEST_CASE("a directory that lies is an error that names the file and the byte") {
  const std::string count = outcome_with([](ZipBuilder& zip) { zip.count = 3; });
  CHECK(contains(count, "a.pt: damaged, or not a PyTorch file: "));
  CHECK(contains(count, "of the file); copy it again"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.count = 60'000; }), "is said to have 60000 records"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.count = 1; }), "longer than its records"));
  CHECK(
      contains(outcome_with([](ZipBuilder& zip) { zip.directory_bytes = 1'000'000; }), "does not lie before its end"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.directory_begin = 0xfffffffe; }), "does not lie before"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.directory_begin = 3; }), "a record is missing"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].stored_bytes = 7; }), "is said to have 6"));
  CHECK(contains(
      outcome_with([](ZipBuilder& zip) { zip.records[1].stored_bytes = zip.records[1].bytes = 4'000'000'000; }),
      "x/b of 4000000000 bytes overlaps what follows it (byte 38"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].header = 0xfffffff0; }), "overlaps"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].crc = 1; }), "header of x/b differs"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].crc = zip.records[1].local_crc = 1; }),
                 "the 6 bytes of x/b do not have their checksum (byte 71"));
}

TEST_CASE("records that overlap, or share a name, are an error") {
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].header = 0; }), "overlaps what follows"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].header = 20; }), "overlaps what follows"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].stored_bytes = zip.records[0].bytes = 6; }),
                 "x/a of 6 bytes overlaps"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[1].name = "x/a"; }), "two records x/a"));
  // Each record fits the directory; only the header's extra field shows the overlap.
  ZipBuilder zip = two_records();
  std::string bytes = zip.build();
  bytes[28] = 1;
  CHECK(contains(outcome_of_bytes(bytes), "x/a of 5 bytes overlaps what follows it (byte 0"));
}

TEST_CASE("a record's header must say what the directory says") {
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].local_name = "x/A"; }), "header of x/a differs"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].local_method = 8; }), "header of x/a differs"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].local_crc = 8; }), "header of x/a differs"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].name = std::string("x\0a", 3); }), "has a NUL"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].name = ""; }), "name is empty"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].flags = 1; }), "x/a is encrypted"));
  CHECK(contains(outcome_with([](ZipBuilder& zip) { zip.records[0].method = 12; }), "packed by method 12"));
}

TEST_CASE("zip64's numbers are checked as the others") {
  const auto with_extra = [](const std::string& extra) {
    ZipBuilder zip = two_records();
    zip.records[1].bytes = zip.records[1].stored_bytes = levin::zip::kIn64;
    zip.records[1].extra = extra;
    return outcome_of_bytes(zip.build());
  };
  const auto field = [](uint16_t kind, uint16_t size, std::initializer_list<uint64_t> values) {
    std::string extra;
    levin::zip::append(extra, kind, 2);
    levin::zip::append(extra, size, 2);
    for (const uint64_t value : values) levin::zip::append(extra, value, 8);
    return extra;
  };
  CHECK(with_extra(field(1, 16, {6, 6})) == "no error");
  CHECK(with_extra(field(9, 8, {0}) + field(1, 16, {6, 6})) == "no error");
  CHECK(contains(with_extra(field(1, 16, {1ull << 63, 1ull << 63})), "overlaps what follows"));
  CHECK(contains(with_extra(field(1, 16, {~0ull, ~0ull})), "overlaps what follows"));
  CHECK(contains(with_extra(field(1, 8, {6})), "zip64 numbers of x/b are cut off"));
  CHECK(contains(with_extra(field(1, 99, {6, 6})), "an extra field of x/b is cut off"));
  CHECK(contains(with_extra(""), "overlaps what follows"));
}

TEST_CASE("a record that does not unpack to its size is an error") {
  const auto packed = [](void (*change)(BuiltRecord& record)) {
    ZipBuilder zip{{{.name = "p", .contents = std::string(1000, 'p'), .is_deflated = true}}};
    change(zip.records[0]);
    return outcome_of_bytes(zip.build());
  };
  CHECK(packed([](BuiltRecord&) {}) == "no error");
  for (const uint64_t bytes : {0, 1, 999, 1001}) {
    CAPTURE(bytes);
    ZipBuilder zip{
        {{.name = "p", .contents = std::string(1000, 'p'), .is_deflated = true, .flags = 8, .bytes = bytes}}};
    CHECK(contains(outcome_of_bytes(zip.build()), "p cannot be unpacked to its"));
  }
  ZipBuilder zip{{{.name = "p", .contents = "no deflated data", .flags = 8, .method = 8}}};
  CHECK(contains(outcome_of_bytes(zip.build()), "cannot be unpacked"));
}

TEST_CASE("a checksum is computed of pieces, and many small claims are one large claim") {
  ZipBuilder zip;
  for (size_t i = 0; i < 3; ++i)
    zip.records.push_back(
        {.name = "r" + std::to_string(i), .contents = std::string(i * (24 << 20) + 3, 'z'), .is_deflated = true});
  std::string bytes = zip.build();
  {
    const ZipReader reader(bytes, "a.pt");
    for (const levin::ZipRecord& record : reader.records())
      CHECK(reader.inflated_crc(record) == levin::crc32_of(std::string(record.bytes, 'z')));
    // 72 MB of zeros are too many for a file of 75 KB.
    CHECK(contains(error_text<levin::UsageError>([&] { reader.check_growth(); }),
                   "r2 unpacks to 50331651 bytes, and a file may grow by 64 MB in memory"));
  }
  zip.records.pop_back();
  bytes = zip.build();
  CHECK_NOTHROW(ZipReader(bytes, "a.pt").check_growth());
  zip.records[1].bytes = 30'000'000;
  zip.records[1].flags = 8;
  bytes = zip.build();
  CHECK(contains(error_text<levin::UsageError>([&] { ZipReader(bytes, "a.pt").check_growth(); }),
                 "claims to unpack to 30000000"));
}
