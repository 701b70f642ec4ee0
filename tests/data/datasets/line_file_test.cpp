#include <levin/data/datasets/readers/line_file.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/text_lines.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/data/files/archive_writer.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using namespace levin::data;

namespace {

std::filesystem::path write_lines(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder / "a.jsonl", std::ios::binary) << text;
  return folder / "a.jsonl";
}

std::vector<std::string> lines_of(const LineFile& file) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < file.size(); ++i) lines.emplace_back(file.line(i));
  return lines;
}

using LineTexts = std::vector<std::string>;

}  // namespace

TEST_CASE("lines end in LF or CRLF, blank ones are left out but counted") {
  const TemporaryFolder folder;
  const auto path = write_lines(folder,
                                "\xef\xbb\xbf"
                                "a\r\n\n \t\r\nb c\nlast");
  const LineFile file(path);
  CHECK(lines_of(file) == LineTexts{"a", "b c", "last"});
  CHECK(file.place(0) == path.string() + ": line 1");
  CHECK(file.place(1) == path.string() + ": line 4");
  CHECK(file.place(2) == path.string() + ": line 5");
  CHECK(lines_of(LineFile(write_lines(folder, "x\n"))) == LineTexts{"x"});
  CHECK(LineFile(write_lines(folder, "")).size() == 0);
  CHECK(LineFile(write_lines(folder, "\n\r\n")).size() == 0);
  CHECK_THROWS_AS(LineFile(folder / "none"), levin::UsageError);
  CHECK_THROWS_AS(LineFile(folder.path()), levin::UsageError);
}

TEST_CASE("lines of several files stand in sequence") {
  const TemporaryFolder folder;
  std::ofstream(folder / "1") << "a\nb\n";
  std::ofstream(folder / "2") << "";
  std::ofstream(folder / "3") << "\nc\n";
  const TextLines lines({(folder / "1").string(), (folder / "2").string(), (folder / "3").string()});
  REQUIRE(lines.size() == 3);
  CHECK(lines.line(1) == "b");
  CHECK(lines.line(2) == "c");
  CHECK(lines.place(1) == (folder / "1").string() + ": line 2");
  CHECK(lines.place(2) == (folder / "3").string() + ": line 2");
}

TEST_CASE("the share that is held out is about as large as asked for, and stays when lines are added") {
  int64_t held_out = 0;
  std::vector<bool> before;
  for (int64_t i = 0; i < 20000; ++i) {
    const std::string line = "{\"text\": \"number " + std::to_string(i) + "\"}";
    before.push_back(is_held_out(line, 0.1));
    held_out += before.back();
    CHECK_FALSE(is_held_out(line, 0));
    CHECK((!before.back() || is_held_out(line, 0.2)));
  }
  // The deviation of 20000 draws is 42; the limit is 5 times that.
  CHECK(std::abs(held_out - 2000) < 212);
}

TEST_CASE("a gzip file is unpacked, and one that is cut off is refused by its name") {
  const TemporaryFolder folder;
  const std::string text = "first\nsecond\n";
  const std::string packed = gzip_bytes(text);
  std::ofstream(folder / "a.jsonl.gz", std::ios::binary) << packed;
  CHECK(lines_of(LineFile(folder / "a.jsonl.gz")) == LineTexts{"first", "second"});
  std::ofstream(folder / "b.jsonl.gz", std::ios::binary) << packed.substr(0, packed.size() / 2);
  CHECK(contains(error_text<levin::UsageError>([&] { LineFile(folder / "b.jsonl.gz"); }),
                 "b.jsonl.gz: cannot be unpacked"));
}
