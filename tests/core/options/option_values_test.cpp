#include <levin/core/options/auto_int.h>
#include <levin/core/options/batch_limit.h>
#include <levin/core/options/check_interval.h>
#include <levin/core/options/devices.h>
#include <levin/core/options/duration.h>
#include <levin/core/options/fast_dev_run.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"

using namespace levin;

namespace {

/// Returns the value of a flag's text as JSON, or the error's text if it is refused.
template <class T>
std::string through(const std::string& text) {
  const OptionType& type = OptionTraits<T>::type();
  T value{};
  try {
    type.set(&value, "x", type.from_text(text), {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return type.get(&value).dump();
}

}  // namespace

TEST_CASE("Devices is read from a count, a list of numbers or auto") {
  CHECK(through<Devices>("2") == "2");
  CHECK(through<Devices>("0,3") == "[0,3]");
  CHECK(through<Devices>("2,") == "[2]");
  CHECK(through<Devices>("[0, 3]") == "[0,3]");
  CHECK(through<Devices>("auto") == "\"auto\"");
  CHECK(through<Devices>("-1") == "\"auto\"");
  CHECK(through<Devices>("") == "null");
  const std::string expected = "x: expected a count, a list of different device numbers, \"auto\" or -1, got ";
  CHECK(through<Devices>("-2") == expected + "-2");
  CHECK(through<Devices>("0,0") == expected + "\"0,0\"");
  CHECK(through<Devices>("two") == expected + "\"two\"");
  CHECK(through<Devices>("1.5") == expected + "1.5");
  CHECK(through<Devices>(",") == expected + "\",\"");
  CHECK(Devices(2).count(8) == 2);
  CHECK(Devices(0).is_set());
  CHECK(Devices{2}.count(8) == 1);
  CHECK(Devices{2}.ids() == std::vector<int>{2});
  CHECK(Devices("auto").count(8) == 8);
  CHECK(Devices().count(8) == 1);
  CHECK(Devices({0, 3}).to_text() == "0,3");
  CHECK_THROWS_AS(Devices("a"), UsageError);
}

TEST_CASE("BatchLimit counts batches by a whole number, and takes a floating one as a fraction") {
  CHECK(through<BatchLimit>("1") == "1");
  CHECK(through<BatchLimit>("1.0") == "1.0");
  CHECK(through<BatchLimit>("0.25") == "0.25");
  CHECK(through<BatchLimit>("0") == "0");
  CHECK(through<BatchLimit>("1.5") == "x: expected a number of batches or a fraction from 0.0 to 1.0, got 1.5");
  CHECK(through<BatchLimit>("-1") == "x: expected a number of batches or a fraction from 0.0 to 1.0, got -1");
  CHECK(BatchLimit(3).of(10, "x") == 3);
  CHECK(BatchLimit(3).of({}, "x") == 3);
  CHECK(BatchLimit(0.25).of(10, "x") == 2);
  CHECK(BatchLimit().of({}, "x") == std::nullopt);
  CHECK_THROWS_WITH(BatchLimit(0.25).of({}, "x"),
                    "x: a fraction (0.25) needs a loader that knows its size; give a number of batches");
  CHECK_THROWS_WITH(BatchLimit(0.25).of(3, "x"), "x: 0.25 of 3 batches is less than one; raise it");
  CHECK(BatchLimit(0).is_none());
  CHECK(BatchLimit(0.0).is_none());
  CHECK(BatchLimit().is_fraction());
  CHECK(BatchLimit(7).count() == 7);
  CHECK_THROWS_AS(BatchLimit(-0.5), UsageError);
}

TEST_CASE("CheckInterval is read from a number of batches, a fraction or a clock") {
  CHECK(through<CheckInterval>("10") == "10");
  CHECK(through<CheckInterval>("0.5") == "0.5");
  CHECK(through<CheckInterval>("00:01:00:00") == "\"00:01:00:00\"");
  const std::string expected =
      "x: expected a number of batches from 1, a fraction of the epoch up to 1.0, or \"DD:HH:MM:SS\", got ";
  CHECK(through<CheckInterval>("0") == expected + "0");
  CHECK(through<CheckInterval>("0.0") == expected + "0.0");
  CHECK(CheckInterval(3).of(10, "x") == 3);
  CHECK(CheckInterval(0.25).of(10, "x") == 2);
  CHECK(CheckInterval(0.01).of(10, "x") == 1);
  CHECK(CheckInterval().of(10, "x") == std::nullopt);
  CHECK_THROWS_WITH(CheckInterval(11).of(10, "x"),
                    "x: validation every 11 batches would never come in an epoch of 10; lower it, or unset it");
  CHECK_THROWS_AS(CheckInterval(0.5).of({}, "x"), UsageError);
  CHECK(through<CheckInterval>("soon") == expected + "\"soon\"");
}

TEST_CASE("Duration is read from a clock, a number of seconds or units") {
  CHECK(through<Duration>("01:02:03:04") == "\"01:02:03:04\"");
  CHECK(through<Duration>("90") == "\"00:00:01:30\"");
  CHECK(through<Duration>("0.5") == "0.5");
  CHECK(through<Duration>(R"({"hours": 1, "minutes": 30})") == "\"00:01:30:00\"");
  CHECK(through<Duration>("01:02:03") == "x: expected \"DD:HH:MM:SS\" or a number of seconds, got \"01:02:03\"");
  CHECK(through<Duration>("-1") == "x: expected \"DD:HH:MM:SS\" or a number of seconds, got -1");
  CHECK(through<Duration>(R"({"hour": 1})") == "x: expected \"DD:HH:MM:SS\" or a number of seconds, got {\"hour\":1}");
  CHECK(Duration("01:02:03:04").seconds() == 93784.0);
}

TEST_CASE("FastDevRun and AutoInt are read from a bool, a number or auto") {
  CHECK(through<FastDevRun>("true") == "1");
  CHECK(through<FastDevRun>("false") == "false");
  CHECK(through<FastDevRun>("7") == "7");
  CHECK(through<FastDevRun>("-1") == "x: expected true, false or a number of batches, got -1");
  CHECK(FastDevRun(true).batches() == 1);
  CHECK(through<AutoInt>("auto") == "\"auto\"");
  CHECK(through<AutoInt>("12") == "12");
  CHECK(through<AutoInt>("some") == "x: expected a whole number or \"auto\", got \"some\"");
  CHECK(AutoInt(3).value_or(9) == 3);
  CHECK(AutoInt("auto").value_or(9) == 9);
}
