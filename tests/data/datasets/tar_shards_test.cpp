#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/core/system/error.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using namespace levin::data;
using Names = std::vector<std::string>;

TEST_CASE("braces in a pattern expand to numbers and to lists") {
  CHECK(expand_braces("a") == Names{"a"});
  CHECK(expand_braces("t-{08..11}.tar") == Names{"t-08.tar", "t-09.tar", "t-10.tar", "t-11.tar"});
  CHECK(expand_braces("{9..11}") == Names{"9", "10", "11"});
  CHECK(expand_braces("{a,b}-{0..1}") == Names{"a-0", "a-1", "b-0", "b-1"});
  CHECK(expand_braces("x{,y}") == Names{"x", "xy"});
  for (const char* wrong : {"{1..}", "{2..1}", "{a..b}", "{a}", "{", "{0..1"}) {
    CHECK(contains(error_text<levin::UsageError>([&] { expand_braces(wrong); }), "is neither two numbers"));
  }
  CHECK(error_text<levin::UsageError>([] { expand_braces("{0..1000000}"); }) == "'{0..1000000}': too many names");
  CHECK(error_text<levin::UsageError>([] { expand_braces("{0..9999}{0..9999}"); }) ==
        "'{0..9999}{0..9999}': too many names");
}

TEST_CASE("shards are found by name and pattern, in order") {
  const TemporaryFolder folder;
  const std::string root = folder.path().string() + "/";
  for (const char* name : {"b.tar", "a.tar", "t-0.tar", "t-1.tar", "[x].tar"}) std::ofstream(folder / name) << "x";
  CHECK(find_shards({root + "?.tar"}, "o") == Names{root + "a.tar", root + "b.tar"});
  CHECK(find_shards({root + "t-{0..1}.tar", root + "a.tar"}, "o") ==
        Names{root + "t-0.tar", root + "t-1.tar", root + "a.tar"});
  CHECK(find_shards({root + "[x].tar"}, "o") == Names{root + "[x].tar"});
  const auto error = [&](const Names& patterns) {
    return error_text<levin::UsageError>([&] { find_shards(patterns, "data.shards"); });
  };
  CHECK(error({root + "t-{0..2}.tar"}) == "data.shards: no file " + root + "t-2.tar");
  CHECK(error({root + "u*"}) == "data.shards: no file matches '" + root + "u*'");
  CHECK(error({root + "a.tar", root + "*.tar"}) == "data.shards: " + root + "a.tar comes twice");
  CHECK(error({}) == "data.shards: not set; it names tar files, such as train-{000..009}.tar or data/*.tar");
  CHECK(contains(error({"{x"}), "data.shards: '{x': "));
}
