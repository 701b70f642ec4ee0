#include <levin/modules/renamed_by.h>
#include <levin/core/system/error.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::renamed_by;

TEST_CASE("names change by the pattern with the most other characters") {
  const std::map<std::string, std::string> patterns = {
      {"bert.*", "encoder.*"}, {"bert.layer.*.out.*", "blocks.*.*"}, {"head", "top"}, {"*.gamma", "*.weight"}};
  CHECK(renamed_by(patterns, "bert.embeddings.weight") == "encoder.embeddings.weight");
  CHECK(renamed_by(patterns, "bert.layer.3.out.bias") == "blocks.3.bias");
  CHECK(renamed_by(patterns, "head") == "top");
  CHECK(renamed_by(patterns, "head.weight") == "head.weight");
  CHECK(renamed_by(patterns, "norm.gamma") == "norm.weight");
  CHECK(renamed_by(patterns, "gamma") == "gamma");
  CHECK(renamed_by({}, "a.b") == "a.b");
  CHECK(renamed_by({{"*", "net.*"}}, "a.b") == "net.a.b");
  CHECK(renamed_by({{"*", "*"}}, "") == "");
  CHECK(renamed_by({{"a*b*c", "*-*"}}, "abbc") == "-b");
  CHECK(renamed_by({{"a*a", "x"}}, "a") == "a");
  CHECK(renamed_by({{"*old*", "new"}}, "an old name") == "new");
}

TEST_CASE("a new name cannot have more stars than the old one") {
  CHECK_NOTHROW(levin::check_renaming({{"*.a.*", "*"}}));
  CHECK(error_text<levin::UsageError>([] { levin::check_renaming({{"a.*", "*.*"}}); }) ==
        "the new name *.* has more * than the old one, a.*");
}
