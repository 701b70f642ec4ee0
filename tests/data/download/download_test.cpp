#include <levin/data/download/download.h>
#include <levin/core/system/signals.h>
#include <levin/data/download/part_file.h>
#include <levin/data/download/sha256.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/download/http_server.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"

using namespace levin::data;
using Request = HttpServer::Request;
using Response = HttpServer::Response;

namespace {

namespace fs = std::filesystem;

/// Bytes without a pattern of the length of a network packet.
std::string test_bytes(size_t count) {
  std::string bytes(count, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// A file to serve, its checksum, and a folder into which it is downloaded.
struct Target {
  explicit Target(size_t count = 300000) : whole(test_bytes(count)), path(folder / "sub/file.bin"), part(path) {
    write_bytes(folder / "whole", whole);
    part += ".part";
    options = {.sha256 = sha256_of(folder / "whole"), .size = static_cast<int64_t>(whole.size()), .retry_seconds = 0};
  }
  void leave_part(const std::string& bytes) const {
    fs::create_directories(path.parent_path());
    write_bytes(part, bytes);
  }
  /// Returns the download's error, and swallows its terminal output.
  std::string error(const std::string& url) const {
    const CapturedStderr captured;
    return error_text([&] { download(url, path, options); });
  }
  void check_whole() const {
    CHECK(read_bytes(path) == whole);
    CHECK_FALSE(fs::exists(part));
  }
  void check_nothing_left() const {
    CHECK_FALSE(fs::exists(path));
    CHECK_FALSE(fs::exists(part));
  }

  TemporaryFolder folder;
  std::string whole;
  fs::path path, part;
  DownloadOptions options = {};
};

}  // namespace

TEST_CASE("SHA-256 gives the published sums") {
  const TemporaryFolder folder;
  write_bytes(folder / "abc", "abc");
  CHECK(sha256_of(folder / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  write_bytes(folder / "empty", "");
  CHECK(sha256_of(folder / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(error_text<levin::UsageError>([&] {
          sha256_of(folder / "none");
        }).ends_with("none: cannot be opened: No such file or directory"));
}

TEST_CASE("a file is downloaded into a new folder, and not again") {
  const Target target;
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  const CapturedStderr captured;
  download(server.url("/file.bin"), target.path, target.options);
  target.check_whole();
  CHECK(captured.text() == "levin: downloading " + server.url("/file.bin") + " to " + target.path.string() + "\n");
  download(server.url("/file.bin"), target.path, target.options);
  download(server.url("/file.bin"), target.path);
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].path == "/file.bin");
  CHECK_FALSE(server.requests()[0].range_from);
}

TEST_CASE("a file that does not fit is replaced, and stays until the new one is whole") {
  const Target target;
  fs::create_directories(target.path.parent_path());
  write_bytes(target.path, "old");
  {
    const HttpServer failing([](const Request&) -> Response { return {.status = "404 Not Found", .body = "no"}; });
    CHECK(target.error(failing.url("/a")) != "no error");
    CHECK(read_bytes(target.path) == "old");
  }
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
}

TEST_CASE("a connection that is cut is taken up where it ended") {
  Target target;
  target.options.retries = 1;  // after each new byte
  const HttpServer server([&](const Request& request) {
    Response response = HttpServer::answer(target.whole, request);
    if (request.number < 3) response.cut_after = 70000;
    return response;
  });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  std::vector<int64_t> begins;
  for (const Request& request : server.requests()) begins.push_back(request.range_from.value_or(0));
  CHECK(begins == std::vector<int64_t>{0, 70000, 140000, 210000});
}

TEST_CASE("a download survives reset connections, and a server that does not send the length") {
  for (const bool has_length : {true, false}) {
    Target target;
    target.options.sha256 = "";
    const HttpServer server([&](const Request& request) {
      Response response = HttpServer::answer(target.whole, request);
      response.has_length = has_length;
      if (request.number < 6) response.cut_after = 50000;
      response.reset = has_length && request.number < 6;
      return response;
    });
    target.options.retries = 50;
    CHECK(target.error(server.url("/a")) == "no error");
    target.check_whole();
    CHECK(server.requests().size() >= 6);
  }
}

TEST_CASE("tries end when none brings a new byte; what came is kept and used by the next download") {
  Target target;
  target.options.retries = 2;
  {
    const HttpServer server([&](const Request& request) {
      Response response = HttpServer::answer(target.whole, request);
      response.cut_after = request.number == 0 ? 100000 : 0;
      return response;
    });
    const std::string error = target.error(server.url("/a"));
    CHECK(error.starts_with(server.url("/a") + ": "));
    CHECK(error.ends_with("; try again, which resumes from what is in " + target.part.string() +
                          ", or download it by hand to " + target.path.string()));
    CHECK(server.requests().size() == 1 + 2);
    CHECK(read_bytes(target.part) == target.whole.substr(0, 100000));
  }
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  REQUIRE(server.requests().size() == 1);
  CHECK(server.requests()[0].range_from == 100000);
}

TEST_CASE("a download starts again if the server has no ranges") {
  const Target target;
  target.leave_part(target.whole.substr(0, 12345));
  const HttpServer server([&](const Request& request) {
    Response response = {.body = target.whole};
    if (request.number == 0) response.cut_after = 200000;
    return response;
  });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[0].range_from == 12345);
  CHECK(server.requests()[1].range_from == 200000);
}

TEST_CASE("a server that answers with another range is asked for all") {
  const Target target;
  target.leave_part(target.whole.substr(0, 1000));
  const HttpServer server([&](const Request& request) {
    return HttpServer::answer(target.whole,
                              request.range_from ? Request{request.path, *request.range_from + 1, 0} : request);
  });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a part that is whole already is not asked for, with or without a known size") {
  Target target;
  target.leave_part(target.whole);
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  CHECK(server.requests().empty());
  fs::rename(target.path, target.part);
  target.options.size = {};
  CHECK(target.error(server.url("/a")) == "no error");  // the server answers 416: there is no more
  target.check_whole();
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a part that is longer than the file, or of another file, is thrown away") {
  Target target;
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  target.leave_part(target.whole + "more");
  target.options.size = {};
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  CHECK(server.requests().size() == 2);
  fs::remove(target.path);
  target.leave_part(std::string(5000, 'x'));
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
  REQUIRE(server.requests().size() == 4);
  CHECK(server.requests()[2].range_from == 5000);
  CHECK_FALSE(server.requests()[3].range_from);
}

TEST_CASE("without a checksum the part left by an earlier download is not used") {
  Target target;
  target.options.sha256 = "";
  target.leave_part(std::string(5000, 'x'));
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
}

TEST_CASE("wrong bytes are removed, and both sums are named") {
  const Target target;
  std::string wrong = target.whole;
  wrong[1000] ^= 1;
  write_bytes(target.folder / "wrong", wrong);
  const HttpServer server([&](const Request& request) { return HttpServer::answer(wrong, request); });
  CHECK(target.error(server.url("/a")) ==
        server.url("/a") + ": this is not the right file: its SHA-256 is " + sha256_of(target.folder / "wrong") +
            ", expected " + target.options.sha256 + "; it was removed, try again or give another url");
  target.check_nothing_left();
  CHECK(server.requests().size() == 1);
}

TEST_CASE("another size ends the download as soon as it is known") {
  const Target target;
  const HttpServer longer([&](const Request& request) { return HttpServer::answer(target.whole + "x", request); });
  CHECK(target.error(longer.url("/a")) ==
        longer.url("/a") +
            ": the server's file has 300001 bytes, expected 300000; try again, or give another url, or "
            "download it by hand to " +
            target.path.string());
  target.check_nothing_left();
  const HttpServer silent(
      [&](const Request&) -> Response { return {.body = target.whole + "x", .has_length = false}; });
  CHECK(contains(target.error(silent.url("/a")), ": the file is longer than the 300000 bytes expected; try again"));
  CHECK_FALSE(fs::exists(target.path));
  const HttpServer shorter(
      [&](const Request& request) { return HttpServer::answer(target.whole.substr(0, 1000), request); });
  CHECK(contains(target.error(shorter.url("/a")), ": the server's file has 1000 bytes, expected 300000; try again"));
}

TEST_CASE("an error page that a server sends instead of the file is named, and not kept") {
  for (const char* status : {"404 Not Found", "403 Forbidden", "204 No Content"}) {
    const Target target;
    const HttpServer server([&](const Request&) -> Response { return {.status = status, .body = "<html>"}; });
    CHECK(target.error(server.url("/a")) == server.url("/a") + ": the server answers " + status +
                                                "; try again, or give another url, or download it by hand to " +
                                                target.path.string());
    target.check_nothing_left();
    CHECK(server.requests().size() == 1);
  }
  const Target target;
  const HttpServer server([&](const Request& request) -> Response {
    if (request.number < 2) return {.status = "503 Service Unavailable", .body = "later"};
    return HttpServer::answer(target.whole, request);
  });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
}

TEST_CASE("redirections are followed, and their pages are not part of the file") {
  const Target target;
  const HttpServer server([&](const Request& request) -> Response {
    if (request.path == "/a") return {.status = "302 Found", .headers = {"Location: /b"}, .body = "it has moved"};
    return HttpServer::answer(target.whole, request);
  });
  CHECK(target.error(server.url("/a")) == "no error");
  target.check_whole();
}

TEST_CASE("without a server the message says what to do") {
  const Target target;
  int port = 0;
  {
    port = HttpServer([](const Request&) { return Response(); }).port();
  }
  const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/a";
  const std::string error = target.error(url);
  CHECK(error.starts_with("cannot reach 127.0.0.1: "));
  CHECK(error.ends_with("; download " + url + " by hand to " + target.path.string()));
  target.check_nothing_left();
  CHECK(contains(target.error("http://no-such-host.invalid/a"), "cannot reach no-such-host.invalid: "));
}

TEST_CASE("a server that does not answer is given up after the timeout") {
  Target target;
  target.options.timeout_seconds = 0.1;
  target.options.retries = 0;
  std::mutex hold;
  hold.lock();
  const HttpServer server([&](const Request&) {
    const std::lock_guard waiting(hold);
    return Response();
  });
  const std::string error = target.error(server.url("/a"));
  hold.unlock();
  CHECK(error.starts_with("cannot reach 127.0.0.1: "));
}

TEST_CASE("file:// works, and resumes from a part") {
  const Target target;
  target.leave_part(target.whole.substr(0, 1234));
  CHECK(target.error("file://" + (target.folder / "whole").string()) == "no error");
  target.check_whole();
  fs::remove(target.path);
  target.leave_part(target.whole + "longer");
  CHECK(target.error("file://" + (target.folder / "whole").string()) == "no error");
  target.check_whole();
  fs::remove(target.path);
  CHECK(contains(target.error("file:///none/such"), "file:///none/such: "));
  target.check_nothing_left();
}

TEST_CASE("threads and processes that ask for one file at once get it once") {
  const Target target;
  const HttpServer server([&](const Request& request) { return HttpServer::answer(target.whole, request); });
  const CapturedStderr captured;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { download(server.url("/a"), target.path, target.options); });
  for (std::thread& thread : threads) thread.join();
  target.check_whole();
  CHECK(server.requests().size() == 1);
  // If a process that holds the part dies, the others take it over.
  fs::remove(target.path);
  const pid_t child = ::fork();
  if (child == 0) {
    const PartFile part(target.path);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  download(server.url("/a"), target.path, target.options);
  target.check_whole();
}

TEST_CASE("a process that waited for another's part does not write into the finished file") {
  const Target target;
  fs::create_directories(target.path.parent_path());
  const CapturedStderr captured;
  auto first = std::make_unique<PartFile>(target.path);
  int64_t size = -1;
  std::thread second([&] {
    PartFile part(target.path);
    size = part.size();
    part.append("other", 5);
  });
  while (!contains(captured.text(), "waiting for another process")) std::this_thread::yield();
  first->append("whole", 5);
  first->commit();
  write_bytes(target.part, "third");  // as if another process had written in between
  first.reset();
  second.join();
  CHECK(size == 5);
  CHECK(read_bytes(target.path) == "whole");
  CHECK(read_bytes(target.part) == "thirdother");
}

TEST_CASE("a folder that cannot be made or written is named") {
  const Target target;
  write_bytes(target.folder / "plain", "x");
  const auto into = [&](const fs::path& path) {
    return error_text<levin::UsageError>([&] { download("file:///none", path); });
  };
  CHECK(into(target.folder / "plain/sub/file") ==
        (target.folder / "plain/sub").string() + ": this folder cannot be made: Not a directory");
  fs::create_directories(target.folder / "taken.part");
  CHECK(into(target.folder / "taken").starts_with((target.folder / "taken.part").string() + ": cannot be written: "));
}

TEST_CASE("a signal ends the tries, and keeps the part that was received") {
  Target target;
  target.options.retry_seconds = 1000;
  const HttpServer server([&](const Request& request) {
    Response response = HttpServer::answer(target.whole, request);
    response.cut_after = 1000;
    if (request.number > 0) response.cut_after = 0;
    return response;
  });
  const auto new_guard = [] {
    return std::make_unique<levin::SignalGuard>(
        std::vector<std::pair<int, levin::SignalAction>>{{SIGINT, levin::SignalAction::Stop}});
  };
  auto guard = new_guard();
  std::thread interrupt([&] {
    while (server.requests().empty()) std::this_thread::yield();
    ::kill(::getpid(), SIGINT);
  });
  const std::string error = target.error(server.url("/a"));
  interrupt.join();
  guard = new_guard();  // forgets the signal
  CHECK(error == server.url("/a") + ": a signal ended the download; what has come is in " + target.part.string());
}
