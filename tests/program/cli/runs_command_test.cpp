#include <levin/core/system/host_name.h>
#include <levin/levin.h>
#include <levin/program/runs/report.h>
#include <levin/program/runs/run_json.h>
#include <levin/program/runs/run_server.h>
#include <levin/program/runs/text_chart.h>
#include <levin/trainer/run_folder/run_lock.h>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <sstream>
#include <streambuf>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/program/cli/program.h"
#include "tests/small_modules.h"

using levin::testing::ProgramRun;
using levin::testing::run_program;
namespace fs = std::filesystem;

namespace {

/// Trains with validations; returns the run's folder.
fs::path train(const TemporaryFolder& folder, double lr, const char* logger = "JSONLinesLogger") {
  struct Validated : ToyModule {
    void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  };
  torch::manual_seed(3);
  Validated module;
  module.optimizers_of = [lr](ToyModule& made) {
    return levin::OptimizerConfig(levin::optim::SGD(made.parameters(), {.lr = lr}));
  };
  levin::TrainerOptions options = quiet(folder);
  options.logger = logger;
  options.name = "toy";
  options.max_epochs = 3;
  options.log_every_n_steps = 1;
  const ToyData data(32);
  return levin::Trainer(options).fit(module, data.loader(8), data.loader(8)).folder;
}

void write_run(const fs::path& folder, const std::string& lines) {
  fs::create_directories(folder);
  write_bytes(folder / "run.json", "{\"id\": \"0\"}");
  write_bytes(folder / "metrics.jsonl", lines);
}

}  // namespace

TEST_CASE("levin ls tells completed, killed and running runs, with their best metric, in the order of versions") {
  const TemporaryFolder folder;
  const fs::path first = train(folder, 0.05);
  write_run(folder / "toy" / "version_10",
            "{\"step\": 5, \"epoch\": 0, \"wall_seconds\": 1.5, \"train_loss\": 2}\n"
            "{\"step\": 9, \"epoch\": 1, \"wall_seconds\": 2.5, \"train_loss\": \"NaN\"}\n{\"step\": 1");
  write_run(folder / "toy" / "version_9", "");
  const levin::RunLock lock(folder / "toy" / "version_9");
  const ProgramRun table = run_program({"ls", folder.path().string()});
  REQUIRE(table.code == 0);
  CHECK(contains(table.out, "completed"));
  CHECK(contains(table.out, "killed     2      9 "));  // the epoch counts from 1, as fit prints it
  CHECK(table.out.find("version_9 ") < table.out.find("version_10 "));
  CHECK(contains(table.out, "metrics.jsonl: 1 lines cannot be read, the first is line 3"));
  const levin::Json list = levin::Json::parse(run_program({"ls", folder.path().string(), "--json"}).out);
  REQUIRE(list.size() == 3);
  CHECK(list[0]["folder"] == first.string());
  CHECK(list[0]["step"] == 12);
  CHECK(list[0]["best"]["metric"] == "val_loss");
  CHECK(list[0]["checkpoints"].size() >= 1);
  CHECK(list[0]["age_seconds"] >= 0);
  CHECK(list[1]["status"] == "running");
  CHECK(list[1]["best"].is_null());
  CHECK(list[2]["status"] == "killed");
  CHECK(list[2]["best"]["value"] == 2);
  CHECK(list[2]["step"] == 9);
  CHECK(list[2]["epoch"] == 1);
}

TEST_CASE("a run is read alike from the lines and from the table of its metrics") {
  const TemporaryFolder folder;
  const levin::runs::RecordedRun lines = levin::runs::read_run(train(folder, 0.05));
  const fs::path of_table = train(folder, 0.05, "CSVLogger");
  const levin::runs::RecordedRun table = levin::runs::read_run(of_table);
  CHECK(lines.problems.empty());
  CHECK(table.problems.empty());
  std::ofstream(of_table / "metrics.jsonl");  // of a logger that failed at the start
  CHECK(levin::runs::read_run(of_table).metrics.size() == table.metrics.size());
  REQUIRE(table.metrics.size() == lines.metrics.size());
  for (const auto& [name, series] : lines.metrics) {
    CHECK(table.metrics.at(name).steps == series.steps);
    CHECK(table.metrics.at(name).values == series.values);
  }
  const std::optional<levin::runs::Best> best = lines.best({"val_loss"});
  REQUIRE(best);
  CHECK(best->value == Approx(lines.summary["metrics"]["val_loss"].get<double>()));
  CHECK(lines.best({"val_loss", levin::MetricMode::Max})->step == 4);
}

TEST_CASE("a run that logged to no file here is where its summary says") {
  const TemporaryFolder folder;
  const fs::path trained = train(folder, 0.05);
  fs::remove(trained / "metrics.jsonl");
  const levin::runs::RecordedRun run = levin::runs::read_run(trained);
  CHECK(run.step == 12);
  CHECK(run.epoch == 2);
  CHECK(run.seconds == run.summary["wall_seconds"].get<double>());
  CHECK(contains(run_program({"ls", folder.path().string()}).out, "completed  3      12 "));
  write_bytes(trained / "summary.json",
              R"({"status": "completed", "epochs": "many", "global_step": 1e300, "wall_seconds": null})");
  const levin::runs::RecordedRun damaged = levin::runs::read_run(trained);
  CHECK(damaged.epoch == 0);
  CHECK(damaged.seconds == 0);
}

TEST_CASE("levin compare prints the changed options and both runs' metrics") {
  const TemporaryFolder folder;
  const fs::path first = train(folder, 0.05), second = train(folder, 0.5);
  write_bytes(first / "config.json", R"({"model": {"lr": 0.05}, "trainer": {"max_epochs": 3}})");
  write_bytes(second / "config.json", R"({"model": {"lr": 0.5}, "trainer": {"max_epochs": 3}})");
  const ProgramRun run = run_program({"compare", first.string(), second.string()});
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "model.lr: 0.5 (it was 0.05)"));
  CHECK_FALSE(contains(run.out, "max_epochs"));
  CHECK(contains(run.out, "val_loss, best"));
  CHECK(contains(run.out, "train_loss, last"));
}

TEST_CASE("levin report writes one page of runs, whose texts are data and never HTML") {
  const TemporaryFolder folder;
  const fs::path first = train(folder, 0.05);
  write_run(folder / "killed",
            "{\"step\": 5, \"epoch\": 0, \"wall_seconds\": 1.5, \"</script><b>\": \"NaN\"}\n{\"step\": 6");
  const std::string out = (folder / "page.html").string();
  const ProgramRun run = run_program({"report", folder.path().string(), "--out", out});
  REQUIRE(run.code == 0);
  CHECK(contains(run.out, "page.html: 2 runs"));
  const std::string page = read_bytes(out);
  CHECK_FALSE(contains(page, "LEVIN_REPORT_DATA"));
  CHECK_FALSE(contains(page, "</script><b>"));
  CHECK(contains(page, "\\u003c/script>\\u003cb>"));
  CHECK(contains(page, "1 lines cannot be read"));
  const size_t begin = page.find("id=\"data\">") + 10;
  const levin::Json runs = levin::Json::parse(page.substr(begin, page.find("</script>", begin) - begin))["runs"];
  REQUIRE(runs.size() == 2);
  for (const levin::Json& one : runs) {
    if (one["status"] == "killed") continue;
    CHECK(one["metrics"]["val_loss"]["values"].size() == 3);
    CHECK(one["checkpoints"][0]["metrics"].contains("val_loss"));
  }
  CHECK(run_program({"report"}).code == 2);
  CHECK(contains(run_program({"report", (folder / "none").string()}).err, "there is no such folder"));
}

TEST_CASE("levin gc keeps the best, the last and the newest checkpoint, and asks before it removes the others") {
  const TemporaryFolder folder;
  const fs::path run = folder / "toy" / "version_0", live = folder / "toy" / "version_1",
                 killed = folder / "toy" / "version_2";
  const auto begin = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const fs::path& one : {run, live, killed}) {
    write_run(one, "{\"step\": 5, \"epoch\": 0, \"wall_seconds\": 1.5, \"loss\": 1}\n");
    fs::create_directories(one / "checkpoints");
    int minutes = 0;
    for (const char* name : {"step=1.ckpt", "step=2.ckpt", "step=3.ckpt", "step=4.ckpt", "last.ckpt"}) {
      write_bytes(one / "checkpoints" / name, std::string(1000, 'x'));
      fs::last_write_time(one / "checkpoints" / name, begin + std::chrono::minutes(minutes++));
    }
  }
  write_bytes(run / "weights.pt", "weights");
  write_bytes(run / "summary.json", R"({"status": "completed", "best_checkpoint": "/moved/checkpoints/step=2.ckpt"})");
  const levin::RunLock lock(live);
  const auto names = [&](const fs::path& of) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(of / "checkpoints")) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  };
  const auto answered = [](const std::string& answer, const std::vector<std::string>& arguments) {
    std::istringstream in(answer);
    std::streambuf* const before = std::cin.rdbuf(in.rdbuf());
    const ProgramRun made = run_program(arguments);
    std::cin.rdbuf(before);
    return made;
  };
  const std::string root = folder.path().string();
  CHECK(contains(answered("n\n", {"gc", root}).out, "2 to remove, 0.002 MB\nremove? [y/N] nothing was removed"));
  CHECK(contains(answered("", {"gc", root}).out, "nothing was removed"));
  CHECK(names(run).size() == 5);
  CHECK(contains(answered("y\n", {"gc", root}).out, "removed"));
  CHECK(names(run) == std::vector<std::string>{"last.ckpt", "step=2.ckpt", "step=4.ckpt"});
  CHECK(names(live).size() == 5);
  CHECK(names(killed).size() == 5);
  CHECK(contains(run_program({"gc", root, "--yes"}).out, "nothing to remove"));
  CHECK(run_program({"gc", root, "--keep", "0", "--yes"}).code == 0);
  CHECK(names(run) == std::vector<std::string>{"last.ckpt", "step=2.ckpt"});
  const ProgramRun refused = run_program({"rm", run.string(), live.string(), "--yes"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "still runs"));
  CHECK(run_program({"rm", root, "--yes"}).code == 2);
  CHECK(fs::exists(run));
  CHECK(contains(answered("y\n", {"rm", run.string()}).out, "1 to remove"));
  CHECK_FALSE(fs::exists(run));
  CHECK(fs::exists(live / "checkpoints" / "step=1.ckpt"));
}

TEST_CASE("levin gc removes nothing that links lead to, and nothing of another run") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", other = folder.path() / "other", inner = run / "trials" / "inner";
  for (const fs::path& one : {run, other, inner}) {
    write_run(one, "{\"step\": 5, \"epoch\": 0, \"wall_seconds\": 1.5, \"loss\": 1}\n");
    fs::create_directories(one / "checkpoints");
    for (const char* name : {"step=1.ckpt", "step=2.ckpt", "step=3.ckpt"})
      write_bytes(one / "checkpoints" / name, std::string(10, 'x'));
  }
  write_bytes(run / "summary.json", R"({"status": "completed"})");
  fs::create_symlink(other / "checkpoints" / "step=1.ckpt", run / "checkpoints" / "start.ckpt");
  fs::create_symlink("step=2.ckpt", run / "checkpoints" / "last.ckpt");
  REQUIRE(run_program({"gc", run.string(), "--keep", "0", "--yes"}).code == 0);
  for (const char* name : {"step=1.ckpt", "step=2.ckpt", "step=3.ckpt"}) {
    CHECK(fs::exists(other / "checkpoints" / name));
    CHECK(fs::exists(inner / "checkpoints" / name));
    CHECK(fs::exists(run / "checkpoints" / name) == (name == std::string("step=2.ckpt")));
  }
  CHECK(fs::exists(run / "checkpoints" / "start.ckpt"));
  CHECK(fs::exists(run / "checkpoints" / "last.ckpt"));
}

TEST_CASE("levin gc and rm leave a run alone that was continued while the question stood there") {
  /// An answer that comes after the run was continued.
  struct LateAnswer : std::streambuf {
    explicit LateAnswer(const fs::path& run_) : run(run_) {}
    int underflow() override {
      if (lock) return traits_type::eof();
      lock.emplace(run);
      setg(text, text, text + 2);
      return 'y';
    }
    fs::path run;
    std::optional<levin::RunLock> lock;
    char text[2] = {'y', '\n'};
  };
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", inner = run / "inner";
  for (const fs::path& one : {run, inner}) write_run(one, "");
  fs::create_directories(run / "checkpoints");
  for (const char* name : {"step=1.ckpt", "step=2.ckpt"}) write_bytes(run / "checkpoints" / name, "x");
  write_bytes(run / "summary.json", R"({"status": "completed"})");
  const auto answered_late = [](const fs::path& continued, const std::vector<std::string>& arguments) {
    LateAnswer answer(continued);
    std::streambuf* const before = std::cin.rdbuf(&answer);
    std::cin.clear();
    const ProgramRun made = run_program(arguments);
    std::cin.rdbuf(before);
    return made;
  };
  CHECK(contains(answered_late(run, {"gc", run.string(), "--keep", "0"}).out, "runs again, and is left alone"));
  CHECK(fs::exists(run / "checkpoints" / "step=1.ckpt"));
  for (const fs::path& continued : {run, inner}) {
    const ProgramRun refused = answered_late(continued, {"rm", run.string()});
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, continued.string() + ": still runs"));
  }
  const levin::RunLock live(inner);
  CHECK(run_program({"rm", run.string(), "--yes"}).code == 2);
  CHECK(fs::exists(run / "checkpoints" / "step=1.ckpt"));
}

TEST_CASE("a run whose files are none, or hold what nobody writes, takes nothing away from the others") {
  const TemporaryFolder folder;
  write_run(folder / "good", "{\"step\": 5, \"epoch\": 0, \"wall_seconds\": 1.5, \"loss\": 1}\n");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  write_run(folder / "list", "");
  write_bytes(folder / "list" / "config.json", R"({"trainer": [1]})");
  write_run(folder / "deep", "{\"step\": 1, \"a\": " + deep + "}\n");
  for (const char* file : {"config.json", "summary.json", "environment.json"})
    write_bytes(folder / "deep" / file, "{\"trainer\": " + deep + "}");
  write_run(folder / "odd", "");
  REQUIRE(::mkfifo((folder / "odd" / "config.json").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", folder / "odd" / "summary.json");
  write_bytes(folder / "secret.json", R"({"sessions": [{"password": 1}]})");
  fs::create_symlink(folder / "secret.json", folder / "odd" / "environment.json");
  const ProgramRun table = run_program({"ls", folder.path().string()});
  REQUIRE(table.code == 0);
  for (const char* name : {"good", "list", "deep", "odd"}) CHECK(contains(table.out, (folder / name).string() + " "));
  CHECK(contains(table.out, "config.json is no plain file"));
  CHECK(contains(table.out, "summary.json is damaged"));
  CHECK(run_program({"compare", (folder / "deep").string(), (folder / "list").string()}).code == 0);
  const ProgramRun page = run_program({"report", folder.path().string(), "--out", "-"});
  CHECK(page.code == 0);
  CHECK(contains(page.out, "</html>"));
  CHECK_FALSE(contains(page.out, "password"));
}

TEST_CASE("texts of runs reach the terminal without the characters that control it") {
  const TemporaryFolder folder;
  const char* const row = "{\"step\": 5, \"epoch\": 0, \"wall_seconds\": 1.5, \"\\u001b]0;x\\u0007loss\": 1}\n";
  for (const char* name : {"a", "b"}) write_run(folder / name, row);
  write_bytes(folder / "b" / "config.json", R"({"name": "\u001b[2J"})");
  write_bytes(folder / "b" / "summary.json", R"({"status": "\u001b[31mended"})");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"ls", folder.path().string()},
        std::vector<std::string>{"compare", (folder / "a").string(), (folder / "b").string()}}) {
    const std::string text = run_program(command).out;
    INFO(text);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\a') == std::string::npos);
  }
}

TEST_CASE("a page is written where a link leads, and never in place of a device") {
  const TemporaryFolder folder;
  write_run(folder / "run", "");
  write_bytes(folder / "page.html", "old");
  fs::create_symlink("page.html", folder / "link.html");
  CHECK(run_program({"report", (folder / "run").string(), "--out", (folder / "link.html").string()}).code == 0);
  CHECK(fs::is_symlink(folder / "link.html"));
  CHECK(contains(read_bytes(folder / "page.html"), "</html>"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", folder / "null");
  for (const char* name : {"pipe", "null"}) {
    const ProgramRun refused = run_program({"report", (folder / "run").string(), "--out", (folder / name).string()});
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "it is a device, a pipe or a socket"));
  }
  CHECK(fs::is_symlink(folder / "null"));
  CHECK(fs::is_fifo(folder / "pipe"));
}

TEST_CASE("a long series is thinned to its extremes, NaN among them") {
  levin::runs::Series series;
  for (int64_t i = 0; i < 1'000'000; ++i) {
    series.steps.push_back(i);
    series.seconds.push_back(static_cast<double>(i) / 1000);
    series.values.push_back(i == 123'456   ? 9.0
                            : i == 654'321 ? -9.0
                            : i == 777'777 ? std::nan("")
                                           : std::sin(i * 0.01));
  }
  const levin::runs::Series thin = levin::runs::thinned(series, 2000);
  CHECK(thin.values.size() <= 2000);
  CHECK(thin.steps.front() == 0);
  CHECK(thin.steps.back() == 999'999);
  CHECK(std::ranges::is_sorted(thin.steps));
  CHECK(std::ranges::count(thin.values, 9.0) == 1);
  CHECK(std::ranges::count(thin.values, -9.0) == 1);
  CHECK(std::ranges::count_if(thin.values, [](double value) { return std::isnan(value); }) == 1);
  series = {{1, 2}, {0.1, 0.2}, {5, 6}};
  CHECK(levin::runs::thinned(series, 2000).values == series.values);
}

TEST_CASE("a chart of Braille letters has the extremes in its labels, and texts cannot control the terminal") {
  levin::runs::Series series;
  for (int64_t i = 0; i <= 100; ++i) {
    series.steps.push_back(i);
    series.seconds.push_back(0);
    series.values.push_back(i == 50 ? std::nan("") : static_cast<double>(i));
  }
  const auto chart = [](const levin::runs::Series& drawn, size_t width, size_t height) {
    return levin::runs::text_chart({{.series = &drawn}}, {.width = width, .height = height});
  };
  const std::vector<std::string> lines = chart(series, 30, 4);
  REQUIRE(lines.size() == 4);
  for (const std::string& line : lines) CHECK(line.size() == 10 + 20 * 3);  // three bytes a letter
  CHECK(contains(lines.front(), "100 "));
  CHECK(contains(lines.back(), "0 "));
  // It rises from the lower left to the upper right corner.
  const std::string empty = "\xE2\xA0\x80";
  CHECK(lines.front().substr(10, 3) == empty);
  CHECK(lines.front().substr(lines.front().size() - 3) != empty);
  CHECK(lines.back().substr(10, 3) != empty);
  CHECK(lines.back().substr(lines.back().size() - 3) == empty);
  series.values.assign(series.values.size(), std::nan(""));
  CHECK(chart(series, 30, 4) == std::vector<std::string>{"no finite value"});
  CHECK(chart({{1}, {0}, {-1e308}}, 5, 2).size() == 2);
  CHECK(chart({{1, 2}, {0, 0}, {-1.7e308, 1.7e308}}, 30, 2).size() == 2);
  CHECK(levin::runs::printable("a\x1b[31m\x07\xC2\x9B\xC3\xA9") == "a?[31m??\xC3\xA9");
}

TEST_CASE("a header Host names the server only by an address of its own") {
  const levin::runs::RunServerOptions local{.allowed_hosts = {"proxy.example"}};
  for (const char* good : {"127.0.0.1:80", "localhost", "LocalHost:1", "[::1]:80", "proxy.example:443"})
    CHECK(levin::runs::is_own_name(good, local));
  for (const char* bad : {"", "evil.example", "127.0.0.1.evil.example", "[::1", "example", "proxy.example.org"})
    CHECK_FALSE(levin::runs::is_own_name(bad, local));
  CHECK(levin::runs::is_own_name("10.0.0.1:80", {.host = "10.0.0.1"}));
  // A server on all addresses has all of them, and no name that a resolver could give it.
  const levin::runs::RunServerOptions everywhere{.host = "0.0.0.0"};
  for (const std::string& good : {std::string("10.0.0.1:80"), std::string("[fe80::1]:80"), levin::host_name()})
    CHECK(levin::runs::is_own_name(good, everywhere));
  for (const char* bad : {"", "evil.example", "10.0.0.1.evil.example:80"})
    CHECK_FALSE(levin::runs::is_own_name(bad, everywhere));
  CHECK_FALSE(levin::runs::is_own_name("10.0.0.1:80", local));
  CHECK(contains(run_program({"serve", ".", "--host="}).err, "--host: expected a value"));
  CHECK(run_program({"serve", "nowhere"}).code == 2);
  CHECK(contains(run_program({"serve", ".", "--token", "a;b"}).err, "--token: expected letters"));
  CHECK(contains(run_program({"serve", ".", "--port", "70000"}).err, "at most 65535"));
}

TEST_CASE("a server that is told to end before it serves ends") {
  const TemporaryFolder folder;
  std::string address;
  const auto listens = [&](const std::string& where) { address = where; };
  CHECK(levin::runs::serve_runs({.root = folder.path()}, listens, [] { return true; }));
  CHECK(address.starts_with("http://127.0.0.1:"));
}

TEST_CASE("JSON of a run's folder with very many names is read, and of a name that is there twice the last value") {
  const auto read = levin::runs::parse_run_json;
  for (const char* text : {R"({"b":1,"a":{"c":[1,{},[],"x",null,true,-1,1.5,1e300]},"":2})", "[]", "3", "\"a\""})
    CHECK(read(text).dump() == levin::Json::parse(text).dump());
  CHECK(read(R"({"a":1,"b":{"x":1,"x":2},"a":3})").dump() == R"({"b":{"x":2},"a":3})");
  for (const char* text : {"", "{", "{} x", R"({"a":})", "1e999", R"({"a":1}{)", "\"\xff\""})
    CHECK(read(text).is_discarded());
  CHECK(read(std::string(100'000, '[')).is_discarded());
  std::string many = "{";
  for (int i = 0; i < 200'000; ++i) many += "\"metric/" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  many += "\"metric/0\":-1}";
  const levin::Json json = read(many);
  CHECK(json.size() == 200'000);
  CHECK(json.back() == -1);
}

TEST_CASE("folders that are no runs, and wrong arguments, are errors that say so") {
  const TemporaryFolder folder;
  CHECK(contains(run_program({"ls", folder.path().string()}).out, "no runs in"));
  const ProgramRun missing = run_program({"ls", (folder / "no").string()});
  CHECK(missing.code == 2);
  CHECK(contains(missing.err, "there is no such folder"));
  const ProgramRun none = run_program({"compare", folder.path().string(), folder.path().string()});
  CHECK(none.code == 2);
  CHECK(contains(none.err, "is not the folder of a run"));
  CHECK(run_program({"compare", folder.path().string()}).code == 2);
  CHECK(run_program({"ls", "--bad"}).code == 2);
}

TEST_CASE("a run tells where each of its sessions was") {
  const TemporaryFolder folder;
  ToyModule module;
  levin::TrainerOptions options = quiet(folder);
  const ToyData data(16);
  options.max_epochs = 1;
  const fs::path run = levin::Trainer(options).fit(module, data.loader(8)).folder;
  options.max_epochs = 2;
  levin::Trainer(options).fit(module, data.loader(8), {}, {.ckpt_path = "last"});
  const levin::runs::RecordedRun recorded = levin::runs::read_run(run);
  REQUIRE(recorded.sessions.size() == 2);
  for (const char* fact : {"started", "levin", "libtorch", "host", "system", "strategy"})
    CHECK_FALSE(recorded.sessions[1][fact].get<std::string>().empty());
  CHECK(recorded.sessions[1]["ranks"] == 1);
  CHECK(contains(levin::runs::report_html({recorded}), recorded.sessions[1]["started"].get<std::string>()));
  write_bytes(run / "environment.json", "{\"sess");
  CHECK(levin::runs::read_run(run).problems == std::vector<std::string>{"environment.json is damaged"});
}

TEST_CASE("a report of very many metrics has fewer points of each") {
  levin::runs::RecordedRun run;
  for (int metric = 0; metric < 500; ++metric) {
    levin::runs::Series& series = run.metrics["metric/" + std::to_string(metric)];
    for (int step = 0; step < 3000; ++step) {
      series.steps.push_back(step);
      series.seconds.push_back(step / 7.0);
      series.values.push_back(std::sin(step + metric));
    }
  }
  CHECK(levin::runs::report_html({run}).size() < 5'000'000);
}

TEST_CASE("levin watch takes a config of any shape, and its status controls no terminal") {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  for (const char* config :
       {R"({"trainer": [1]})", R"({"trainer": {"max_epochs": [[]]}})", "[]", R"({"trainer": 3})"}) {
    CAPTURE(config);
    write_run(run, "{\"step\": 1e300, \"epoch\": -1e300, \"train_loss\": 1}\n");
    write_bytes(run / "config.json", config);
    write_bytes(run / "summary.json", "{\"status\": \"\\u001b[2Jdone\"}");
    const ProgramRun watched = run_program({"watch", run.string()});
    CHECK(watched.code == 0);
    CHECK(contains(watched.out, "?[2Jdone  epoch -9007199254740991  step 9007199254740992"));
  }
}

TEST_CASE("a line of metrics.jsonl that is too long for a row is left out") {
  const TemporaryFolder folder;
  write_run(folder / "run", "{\"step\": 1, \"a\": 1}\n{\"step\": 2, \"a\": [" + std::string(17 << 20, ' ') + "0]}\n");
  const levin::runs::RecordedRun run = levin::runs::read_run(folder / "run");
  CHECK(run.metrics.at("a").values.size() == 1);
  CHECK(run.problems == std::vector<std::string>{"metrics.jsonl: 1 lines cannot be read, the first is line 2"});
}
