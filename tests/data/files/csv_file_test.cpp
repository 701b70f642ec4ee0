#include <levin/data/files/csv_file.h>
#include <levin/core/system/error.h>

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"

using namespace levin::data;
using Rows = std::vector<std::vector<std::string>>;

namespace {

Rows rows_of(const std::string& text, CsvFormat format = {.header = false}) {
  CsvReader reader(text, "x.csv", format);
  Rows rows;
  while (reader.next()) {
    auto& row = rows.emplace_back();
    for (size_t i = 0; i < reader.columns().size(); ++i) row.emplace_back(reader[i]);
  }
  return rows;
}

std::string error_of(const std::string& text, CsvFormat format = {}) {
  return error_text<levin::UsageError>([&] { rows_of(text, format); });
}

}  // namespace

TEST_CASE("fields are read plain and quoted") {
  CHECK(rows_of("a,b\nc,d\n") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("a,b\nc,d") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of(",\n,") == Rows{{"", ""}, {"", ""}});
  CHECK(rows_of("\"a\",\"b, c\"") == Rows{{"a", "b, c"}});
  CHECK(rows_of("\"\",\"\"\"\"") == Rows{{"", "\""}});
  CHECK(rows_of("\"\"\"a\"\"\",\"b\"\"c\"\"d\"\nx,y") == Rows{{"\"a\"", "b\"c\"d"}, {"x", "y"}});
  CHECK(rows_of("\"a\nb\r\nc\",d\n") == Rows{{"a\nb\r\nc", "d"}});
  CHECK(rows_of("5\" pipe, x\n") == Rows{{"5\" pipe", " x"}});
  CHECK(rows_of("a;\"b;c\"\n", {.delimiter = ';', .header = false}) == Rows{{"a", "b;c"}});
  CHECK(rows_of("a\tb\n", {.delimiter = '\t', .header = false}) == Rows{{"a", "b"}});
}

TEST_CASE("line ends of all kinds, blank lines and a byte order mark are understood") {
  CHECK(rows_of("a,b\r\nc,d\r\n") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("a,b\rc,d\r") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("\n\na\n\r\n\n\"\"\nb\n\n") == Rows{{"a"}, {""}, {"b"}});
  CHECK(rows_of("\xef\xbb\xbf\"a\",b\n") == Rows{{"a", "b"}});
}

TEST_CASE("a header names the columns") {
  const std::string text = "name,\"the age\",x,x\nann,3,,\n";
  CsvReader reader(text, "x.csv");
  CHECK(reader.columns() == std::vector<std::string>{"name", "the age", "x", "x"});
  CHECK(reader.column("the age") == 1);
  const auto error = [&](const std::string& name) {
    return error_text<levin::UsageError>([&] { reader.column(name); });
  };
  CHECK(error("nam") == "x.csv: no column 'nam' (did you mean name?); it has name, the age, x, x");
  CHECK(error("x") == "x.csv: two columns have the name 'x'");
  REQUIRE(reader.next());
  CHECK(reader[0] == "ann");
  CHECK(error_text<levin::UsageError>([&] { reader.fail(1, "too old"); }) == "x.csv:2: column 'the age': too old");
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.next());
  CHECK(CsvReader("3,4\n", "x", {.header = false}).columns() == std::vector<std::string>{"0", "1"});
}

TEST_CASE("lines are counted through quoted line ends and blank lines") {
  const std::string text = "a,b\n\"1\n\n\",2\n\n3,4\r\n5,6";
  CsvReader reader(text, "x.csv");
  std::vector<int64_t> lines;
  while (reader.next()) lines.push_back(reader.line());
  CHECK(lines == std::vector<int64_t>{2, 6, 7});
}

TEST_CASE("records of another number of fields can be read, and reading goes on") {
  CsvReader reader("a,b\n1,2\n3\n4,5,6\n7,8\n", "x.csv");
  std::vector<size_t> fields;
  while (reader.next_uneven()) fields.push_back(reader.fields());
  CHECK(fields == std::vector<size_t>{2, 1, 3, 2});
  CHECK(reader.line() == 5);
}

TEST_CASE("text that is no table is refused with file and line") {
  CHECK(error_of("a,b\n1,2\n3\n") == "x.csv:3: 1 fields, but the header has 2");
  CHECK(error_of("a,b\n1,2\n\n3,4,5\n") == "x.csv:4: 3 fields, but the header has 2");
  CHECK(error_of("1,2\n3\n", {.header = false}) == "x.csv:2: 1 fields, but the first row has 2");
  CHECK(error_of("a,b\n1,\"2\n3,4\n") == "x.csv:2: a quote that is never closed");
  CHECK(error_of("a,b\n1,\"2\"3\n") ==
        "x.csv:2: field 2: text behind the closing quote; a quote inside is written \"\"");
  CHECK(error_of("\n\n") == "x.csv: no header: the file is blank");
  CHECK(error_of("", {.header = false}) == "x.csv: no rows: the file is blank");
  CHECK(error_of(std::string("\xff\xfe"
                             "a\0",
                             4)) == "x.csv: is UTF-16; save it as UTF-8");
  CHECK(error_of("a\n", {.delimiter = '\n'}) == "x.csv: the delimiter cannot be a quote or a line end");
  CHECK(error_of("a,b\n") == "no error");
}

TEST_CASE("bytes that are no UTF-8 are refused with file, line, column and byte") {
  CHECK(error_of("name,town\nann,Z\xfcrich\n") ==
        "x.csv:2: column 'town', byte 2 of the field: 0xFC is no UTF-8; save the file as UTF-8 (`iconv -f LATIN1 -t "
        "UTF-8`, where it is Latin-1)");
  CHECK(contains(error_of("name,t\xf6wn\nann,b\n"), "x.csv:1: column 2, byte 2 of the field: 0xF6"));
  CHECK(contains(error_of("1,\"a\n\xc3\"\n", {.header = false}), "x.csv:1: column 2, byte 3 of the field: 0xC3"));
  CHECK(contains(error_of("a,b\n1,2\n3,\xed\xa0\x80\n"), "x.csv:3: column 'b', byte 1"));
  CHECK(error_of("name,town\nann,Z\xc3\xbcrich\n") == "no error");
}

TEST_CASE("a huge field is read, and shown cut off in errors") {
  const std::string huge(3'000'000, 'x');
  CHECK(rows_of("\"" + huge + "\"\"" + huge + "\"," + huge) == Rows{{huge + "\"" + huge, huge}});
  CHECK(shown_field("abc") == "'abc'");
  CHECK(shown_field(huge) == "'" + std::string(40, 'x') + "...'");
}

TEST_CASE("a line that is too long for a table is refused with its number") {
  const std::string huge((size_t{64} << 20) + 1, 'x');
  CHECK(error_of(huge + "\n1\n") ==
        "x.csv:1: the line has more than 64 MB; look whether the file has line ends, and each quote its second one");
  CHECK(contains(error_of("a\n1\n\"" + huge + "\"\"" + huge + "\"\n"), "x.csv:3: the line has more than 64 MB"));
  CHECK(
      error_of("a\n" + std::string(size_t{1} << 20, ',') + "\n") ==
      "x.csv:2: the line has more than 1048576 fields; look whether the file has line ends, and save that many numbers "
      "as an array (.npy)");
}
