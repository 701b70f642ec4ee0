#include <levin/callbacks/progress_format.h>

#include <limits>

#include "tests/catch.h"

using namespace levin::progress;

namespace {

Line example() {
  Line line;
  line.label = "Epoch 3/5";
  line.done = 155;
  line.total = 250;
  line.batches_per_second = 24;
  line.seconds = 6.5;
  line.metrics = {{"train_loss", 0.1234}, {"val_acc", 0.951}};
  return line;
}

int64_t code_points(const std::string& text) {
  int64_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

}  // namespace

TEST_CASE("format_bar keeps what matters most as the terminal narrows") {
  const Line line = example();
  CHECK(format_bar(line, {.columns = 200}) ==
        "Epoch 3/5  ########################----------------  62%  155/250  24 it/s  0:04 left  train_loss 0.123  "
        "val_acc 0.951");
  CHECK(format_bar(line, {.columns = 80}) ==
        "Epoch 3/5  ######----  62%  24 it/s  0:04 left  train_loss 0.123  val_acc 0.951");
  CHECK(format_bar(line, {.columns = 65}) == "Epoch 3/5  ######----  62%  24 it/s  0:04 left  train_loss 0.123");
  CHECK(format_bar(line, {.columns = 40}) == "Epoch 3/5  #######-----  62%  0:04 left");
  CHECK(format_bar(line, {.columns = 16}) == "Epoch 3/5  62%");
  CHECK(format_bar(line, {.columns = 6}) == "Epoch");
  CHECK(format_bar(line, {.columns = 0}) == "");
}

TEST_CASE("format_bar never reaches the last column") {
  for (bool unicode : {false, true}) {
    for (bool known : {false, true}) {
      Line line = example();
      if (!known) line.total.reset();
      for (int64_t columns = 1; columns < 200; ++columns) {
        const std::string text = format_bar(line, {.columns = columns, .unicode = unicode});
        CAPTURE(columns, text);
        REQUIRE(code_points(text) < columns);
      }
    }
  }
}

TEST_CASE("format_bar draws with box characters and colours if the terminal has them") {
  Line line = example();
  line.metrics = {{"loss", 1.0}};
  CHECK(format_bar(line, {.columns = 40, .unicode = true}) == "Epoch 3/5  ━━━━━━━─────  62%  0:04 left");
  CHECK(format_bar(line, {.columns = 52, .unicode = true, .colour = true}) ==
        "Epoch 3/5  \x1b[36m━━━━━━━\x1b[0m\x1b[2m─────\x1b[0m  62%  0:04 left  \x1b[2mloss\x1b[0m 1.000");
}

TEST_CASE("format_bar says how long a finished line took") {
  Line line = example();
  line.done = 250;
  line.finished = true;
  line.seconds = 10.42;
  line.metrics.clear();
  CHECK(format_bar(line, {.columns = 60}) == "Epoch 3/5  ################# 100%  250/250  24 it/s  10.4 s");
  line.metrics = {{"train_loss", 0.1}, {"val_acc", 0.9}};
  CHECK(format_bar(line, {.columns = 60}) == "Epoch 3/5  24 it/s  10.4 s  train_loss 0.100  val_acc 0.900");
  CHECK(format_bar(line, {.columns = 40}) == "Epoch 3/5  10.4 s  train_loss 0.100");
}

TEST_CASE("format_bar counts if the length is unknown") {
  Line line = example();
  line.total.reset();
  CHECK(format_bar(line, {.columns = 80}) == "Epoch 3/5  155 batches  24 it/s  0:06  train_loss 0.123  val_acc 0.951");
  line.done = 1;
  line.batches_per_second = 0;
  line.metrics.clear();
  CHECK(format_bar(line, {.columns = 80}) == "Epoch 3/5  1 batch  0:06");
}

TEST_CASE("format_bar shows 100 % if nothing is to be done or more than all is done") {
  Line line = example();
  line.metrics.clear();
  line.done = 300;
  CHECK(format_bar(line, {.columns = 42}) == "Epoch 3/5  ############## 100%  0:00 left");
  line.total = 0;
  line.done = 0;
  CHECK(format_bar(line, {.columns = 42}) == "Epoch 3/5  ######### 100%  0/0  0:00 left");
}

TEST_CASE("format_plain has no bar") {
  Line line = example();
  CHECK(format_plain(line) == "Epoch 3/5   62%  155/250  24 it/s  0:04 left  train_loss 0.123  val_acc 0.951");
  line.finished = true;
  CHECK(format_plain(line) == "Epoch 3/5  155/250  24 it/s  6.50 s  train_loss 0.123  val_acc 0.951");
}

TEST_CASE("Durations are shown as a clock or in seconds") {
  CHECK(format_clock(0) == "0:00");
  CHECK(format_clock(59.9) == "0:59");
  CHECK(format_clock(61) == "1:01");
  CHECK(format_clock(3600) == "1:00:00");
  CHECK(format_clock(2 * 86400 + 3 * 3600 + 4 * 60 + 5) == "2 d 03:04:05");
  CHECK(format_clock(-1) == "0:00");
  CHECK(format_clock(std::numeric_limits<double>::infinity()) == "--:--");
  CHECK(format_clock(std::numeric_limits<double>::quiet_NaN()) == "--:--");
  CHECK(format_duration(0.424) == "0.42 s");
  CHECK(format_duration(9.996) == "10.0 s");
  CHECK(format_duration(59.96) == "0:59");
  CHECK(format_duration(75) == "1:15");
}

TEST_CASE("Rates are shown per second, or as seconds for each iteration") {
  CHECK(format_rate(0.1) == "10 s/it");
  CHECK(format_rate(0.65) == "1.5 s/it");
  CHECK(format_rate(0.9999) == "1.0 it/s");
  CHECK(format_rate(1.26) == "1.3 it/s");
  CHECK(format_rate(9.96) == "10 it/s");
  CHECK(format_rate(155) == "155 it/s");
  CHECK(format_rate(999.6) == "1.0k it/s");
  CHECK(format_rate(1234) == "1.2k it/s");
  CHECK(format_rate(45678) == "46k it/s");
  CHECK(format_rate(2.5e6) == "2.5M it/s");
  CHECK(format_rate(0) == "");
}

TEST_CASE("Metrics have three to four digits") {
  CHECK(format_metric(0) == "0");
  CHECK(format_metric(0.1234) == "0.123");
  CHECK(format_metric(0.01234) == "0.0123");
  CHECK(format_metric(0.001) == "0.00100");
  CHECK(format_metric(-2.5) == "-2.500");
  CHECK(format_metric(12.345) == "12.35");
  CHECK(format_metric(123.45) == "123.5");
  CHECK(format_metric(12345.6) == "12346");
  CHECK(format_metric(1.234e-5) == "1.23e-05");
  CHECK(format_metric(2.5e7) == "2.50e+07");
  CHECK(format_metric(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(format_metric(-std::numeric_limits<double>::infinity()) == "-inf");
}
