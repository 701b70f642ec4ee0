#include <levin/callbacks/progress_bar.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/fake_run.h"

using namespace levin;

namespace {

/// Two epochs of fit as the loops run them: a sanity check, three train batches an epoch, then validation.
void fit_two_epochs(ProgressBar& bar, FakeRun& run) {
  auto validate = [&](int64_t batches) {
    const auto train_batches = std::exchange(run.num_batches_, batches);
    bar.on_validation_start(run);
    for (run.batch_idx_ = 0; run.batch_idx_ < batches; ++run.batch_idx_) bar.on_validation_batch_end(run);
    run.progress_bar_metrics_["val_acc"] = 0.5;
    bar.on_validation_end(run);
    run.num_batches_ = train_batches;
  };
  bar.setup(run);
  bar.on_fit_start(run);
  bar.on_sanity_check_start(run);
  validate(2);
  bar.on_sanity_check_end(run);
  run.progress_bar_metrics_.clear();
  run.max_epochs_ = 2;
  run.num_batches_ = 3;
  bar.on_train_start(run);
  for (run.state_.epoch = 0; run.state_.epoch < 2; ++run.state_.epoch) {
    bar.on_train_epoch_start(run);
    for (run.batch_idx_ = 0; run.batch_idx_ < 3; ++run.batch_idx_) bar.on_train_batch_end(run);
    validate(4);
    bar.on_train_epoch_end(run);
    run.progress_bar_metrics_["train_loss_epoch"] = 0.25;  // known only after the hook
  }
  bar.on_train_end(run);
  bar.on_fit_end(run);
  bar.teardown(run);
}

void begin_epoch(ProgressBar& bar, FakeRun& run) {
  bar.setup(run);
  bar.on_fit_start(run);
  bar.on_train_epoch_start(run);
}

std::vector<std::string> split(const std::string& text, const std::string& separators) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (separators.find(c) == std::string::npos)
      parts.back() += c;
    else
      parts.emplace_back();
  }
  return parts;
}

/// Returns the final content of a terminal of unlimited width. Knows the control sequences that the bar uses.
std::vector<std::string> screen(const std::string& written) {
  std::vector<std::string> lines(1);
  size_t column = 0;
  for (size_t i = 0; i < written.size(); ++i) {
    std::string& line = lines.back();
    if (written[i] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (written[i] == '\r') {
      column = 0;
    } else if (written[i] == '\x1b') {
      const size_t end = written.find_first_of("Khlm", i);
      if (written[end] == 'K') line.resize(column);
      i = end;
    } else {
      line.resize(std::max(line.size(), column + 1));
      line[column++] = written[i];
    }
  }
  return lines;
}

ProgressBarOptions in_terminal(std::ostream& stream, int64_t columns = 100) {
  ProgressBarOptions options;
  options.refresh_seconds = 0;
  options.stream = &stream;
  options.stream_columns = columns;
  return options;
}

ProgressBarOptions in_file(std::ostream& stream, double plain_seconds) {
  ProgressBarOptions options;
  options.plain_seconds = plain_seconds;
  options.stream = &stream;
  return options;
}

}  // namespace

TEST_CASE("In a terminal each epoch leaves one line, with the epoch's values") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  fit_two_epochs(bar, run);
  const std::vector<std::string> lines = screen(out.str());
  REQUIRE(lines.size() == 3);
  CHECK(contains(lines[0], "Epoch 1/2  ####"));
  CHECK(contains(lines[0], " 100%  3/3  "));
  CHECK(contains(lines[0], "train_loss_epoch 0.250  val_acc 0.500"));
  CHECK(contains(lines[1], "Epoch 2/2  "));
  CHECK(lines[2].empty());
}

TEST_CASE("In a terminal evaluations within fit show and leave again") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  fit_two_epochs(bar, run);
  const std::vector<std::string> drawings = split(out.str(), "\r");
  auto count = [&](const std::string& part) {
    return std::count_if(drawings.begin(), drawings.end(), [&](const std::string& d) { return contains(d, part); });
  };
  CHECK(count("Sanity check  #") == 2);
  CHECK(count("Validation  #") == 8);
  CHECK(count(" 100%  4/4") == 2);
  CHECK(count("Epoch 1/2  ---") == 1);
}

TEST_CASE("In a file there are plain lines only, one for each epoch") {
  std::ostringstream out;
  ProgressBar bar(in_file(out, 1000));
  FakeRun run;
  fit_two_epochs(bar, run);
  CHECK(out.str().find_first_of("\r\x1b") == std::string::npos);
  const std::vector<std::string> lines = split(out.str(), "\n");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].rfind("Epoch 1/2  3/3  ", 0) == 0);
  CHECK(contains(lines[0], " s  train_loss_epoch 0.250  val_acc 0.500"));
  CHECK(lines[1].rfind("Epoch 2/2  3/3  ", 0) == 0);
  CHECK(lines[2].empty());
}

TEST_CASE("In a file long epochs have lines in between") {
  std::ostringstream out;
  ProgressBar bar(in_file(out, 0));
  FakeRun run;
  fit_two_epochs(bar, run);
  CHECK(contains(out.str(), "Sanity check  100%  2/2"));
  CHECK(contains(out.str(), "Epoch 2/2   33%  1/3"));
  CHECK(contains(out.str(), "Validation   75%  3/4"));
}

TEST_CASE("An epoch of unknown length is counted") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  begin_epoch(bar, run);
  for (run.batch_idx_ = 0; run.batch_idx_ < 7; ++run.batch_idx_) bar.on_train_batch_end(run);
  CHECK(contains(screen(out.str()).back(), "Epoch 1  7 batches  "));
  bar.on_train_epoch_end(run);
  bar.on_train_end(run);
  CHECK(contains(screen(out.str()).front(), "Epoch 1  7 batches  "));
}

TEST_CASE("A resumed epoch shows that it starts in its middle") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  run.num_batches_ = 10;
  run.state_.epoch = 4;
  run.state_.batch_in_epoch = 6;
  begin_epoch(bar, run);
  CHECK(contains(screen(out.str()).back(), "  60%   6/10"));
}

TEST_CASE("A run that is resumed inside an epoch shows that epoch, whose start hook is not called again") {
  std::ostringstream out;
  ProgressBar bar(in_file(out, /*plain_seconds=*/0));
  FakeRun run;
  run.max_epochs_ = 3;
  run.num_batches_ = 5;
  run.state_.epoch = 1;
  run.state_.batch_in_epoch = 2;
  bar.setup(run);
  bar.on_fit_start(run);
  bar.on_train_start(run);
  run.batch_idx_ = 2;
  bar.on_train_batch_end(run);
  CHECK(contains(out.str(), "Epoch 2/3"));
  CHECK(contains(out.str(), "3/5"));
}

TEST_CASE("Evaluation alone has its own line, over all loaders") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  bar.setup(run);
  bar.on_test_start(run);
  for (run.dataloader_idx_ = 0; run.dataloader_idx_ < 2; ++run.dataloader_idx_) {
    run.num_batches_ = 2 + run.dataloader_idx_;
    for (run.batch_idx_ = 0; run.batch_idx_ < *run.num_batches_; ++run.batch_idx_) bar.on_test_batch_end(run);
  }
  run.progress_bar_metrics_["test_acc"] = 0.75;
  bar.on_test_end(run);
  bar.teardown(run);
  const std::vector<std::string> lines = screen(out.str());
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], "Test  ##"));
  CHECK(contains(lines[0], " 100%  5/5  "));
  CHECK(contains(lines[0], "test_acc 0.750"));
}

TEST_CASE("An exception ends the line") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  run.num_batches_ = 3;
  begin_epoch(bar, run);
  bar.on_train_batch_end(run);
  bar.on_exception(run, std::runtime_error("boom"));
  bar.teardown(run);
  const std::vector<std::string> lines = screen(out.str());
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], "Epoch 1"));
  CHECK(lines[1].empty());
}

TEST_CASE("A run that ends inside of a validation leaves its line") {
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  run.num_batches_ = 3;
  begin_epoch(bar, run);
  bar.on_train_batch_end(run);
  bar.on_validation_start(run);
  bar.on_validation_batch_end(run);
  bar.on_train_end(run);
  CHECK(out.str().back() == '\n');
  bar.on_fit_end(run);
  bar.teardown(run);
  CHECK(screen(out.str()).size() == 2);
}

TEST_CASE("Ranks other than 0 show no progress") {
  struct SecondRank : Comm {
    int64_t rank() const override { return 1; }
    int64_t world_size() const override { return 2; }
    void all_reduce(at::Tensor&, ReduceOp) override {}
    void broadcast(at::Tensor&, int64_t) override {}
    std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override { return {tensor, tensor}; }
    void barrier() override {}
  };
  std::ostringstream out;
  ProgressBar bar(in_terminal(out));
  FakeRun run;
  run.comm_ = std::make_shared<SecondRank>();
  fit_two_epochs(bar, run);
  CHECK(out.str().empty());
}
