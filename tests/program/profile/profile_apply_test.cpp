#include <levin/program/commands/profile_apply.h>
#include <levin/levin.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/config/run_options.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

namespace {

levin::ProfileAdvice advice_of(const std::string& path, const levin::Json& before, const levin::Json& after,
                               levin::ProfileEffect effect = levin::ProfileEffect::None) {
  return {.cause = "a cause", .change = path, .changes = {{path, before.dump(), after.dump()}}, .effect = effect};
}

struct Files {
  explicit Files(const std::string& text) { write_bytes(path(), text); }
  std::string path() const { return (folder / "run.json").string(); }
  levin::cli::AppliedAdvice apply(const std::vector<levin::ProfileAdvice>& advice,
                                  std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"--config", path()});
    const auto read = [&] {
      return levin::cli::read_command_line(levin::schema_of<levin::cli::RunOptions>(), "fit", flags);
    };
    const auto line = read();
    return levin::cli::apply_advice(advice, line.files, line.config,
                                    [&] { levin::cli::read_run_options(read().config); });
  }
  levin::Json json() const { return levin::Json::parse(read_bytes(path())); }
  TemporaryFolder folder = {};
};

constexpr const char* kConfig = R"({
    "seed": 1,
    "trainer": {"callbacks": ["Timer", {"class": "ModelCheckpoint", "every_n_train_steps": 1}]},
    "model": {"class": "ImageClassifier", "net": "mlp"},
    "data": "SyntheticDigits"
}
)";

}  // namespace

TEST_CASE("advice is written into the config, which keeps its other values, their order and its indentation") {
  Files files(kConfig);
  const auto applied =
      files.apply({advice_of("data.num_workers", 0, 2), advice_of("trainer.callbacks[1].every_n_train_steps", 1, 1000),
                   advice_of("trainer.num_threads", 1, nullptr)});
  CHECK(applied.written.size() == 3);
  CHECK(applied.left.empty());
  levin::Json expected = levin::Json::parse(kConfig);
  expected["data"] = {{"class", "SyntheticDigits"}, {"num_workers", 2}};
  expected["trainer"]["callbacks"][1]["every_n_train_steps"] = 1000;
  expected["trainer"]["num_threads"] = nullptr;
  CHECK(files.json() == expected);
  CHECK(files.json().dump() == expected.dump());  // the order too
  CHECK(contains(read_bytes(files.path()), "\n    \"seed\": 1,\n"));
}

TEST_CASE("advice that changes what is learnt, or that no option follows, is not written") {
  Files files(kConfig);
  const auto applied = files.apply({advice_of("data.batch_size", 64, 256, levin::ProfileEffect::Learning),
                                    {.cause = "callback Timer", .change = "take it out"}});
  CHECK(applied.written.empty());
  REQUIRE(applied.left.size() == 2);
  CHECK(contains(applied.left[0], "changes what is learnt"));
  CHECK(contains(applied.left[1], "no option does it"));
  CHECK(read_bytes(files.path()) == kConfig);
}

TEST_CASE("a value that a flag sets is not written, because the file would have no effect") {
  Files files(kConfig);
  const auto applied = files.apply({advice_of("trainer.num_threads", 7, 2)}, {"--num-threads", "7"});
  CHECK(applied.written.empty());
  REQUIRE(applied.left.size() == 1);
  CHECK(contains(applied.left[0], "--num-threads sets it"));
  CHECK(read_bytes(files.path()) == kConfig);
}

TEST_CASE("a config that could not be read again gets its old text back, byte for byte") {
  Files files(kConfig);
  CHECK_THROWS_AS(files.apply({advice_of("data.num_workers", 0, -5)}), levin::UsageError);
  CHECK(read_bytes(files.path()) == kConfig);
  CHECK_THROWS_AS(files.apply({advice_of("data.no_such_option", 0, 1)}), levin::UsageError);
  CHECK(read_bytes(files.path()) == kConfig);
}

TEST_CASE("a list item that the file does not have is left, with the reason") {
  Files files(kConfig);
  const auto applied = files.apply({advice_of("trainer.callbacks[5].monitor", nullptr, "x")});
  CHECK(applied.written.empty());
  REQUIRE(applied.left.size() == 1);
  CHECK(contains(applied.left[0], "no such place"));
}

TEST_CASE("advice on a value of a base goes into the file that overrides the base") {
  Files files(R"({"base": "all.json", "data": {"batch_size": 16}})");
  write_bytes(files.folder / "all.json",
              R"({"model": {"class": "ImageClassifier"}, "data": {"class": "SyntheticDigits", "num_workers": 0}})");
  const auto applied = files.apply({advice_of("data.num_workers", 0, 2)});
  CHECK(applied.left.empty());
  CHECK(files.json() == levin::Json::parse(R"({"base": "all.json", "data": {"batch_size": 16, "num_workers": 2}})"));
}

TEST_CASE("a config with comments is not written, because they would be lost") {
  const std::string text = "{\n  // small\n  \"model\": \"ImageClassifier\", \"data\": \"SyntheticDigits\"\n}\n";
  Files files(text);
  CHECK(contains(error_text<levin::UsageError>([&] { files.apply({advice_of("data.num_workers", 0, 2)}); }),
                 "run.json has comments, which would be lost"));
  CHECK(read_bytes(files.path()) == text);
}
