// The store where ranks meet: the peers that it accepts, and those that it refuses.
#include <levin/core/ranks/rank_store.h>
#include <levin/core/ranks/secret.h>
#include <levin/core/ranks/stream_socket.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <signal.h>

#include <set>

#include "tests/trainer/launch/ranks.h"

namespace fs = std::filesystem;
using levin::StreamSocket;

namespace {

constexpr std::chrono::seconds kSoon{10};
/// As /proc/net/tcp writes 127.0.0.1, and /proc/net/tcp6 ::1 and ::ffff:127.0.0.1.
const std::set<std::string> kLoopback = {"0100007F", "00000000000000000000000001000000",
                                         "0000000000000000FFFF00000100007F"};

/// Returns the inodes of a process's sockets.
std::set<std::string> sockets_of(const std::string& process) {
  std::set<std::string> inodes;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc/" + process + "/fd", gone)) {
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.rfind("socket:[", 0) == 0) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// Returns the addresses on which these sockets listen.
std::set<std::string> listening(const std::set<std::string>& inodes) {
  std::set<std::string> addresses;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, skipped, inode;
      words >> number >> local >> remote >> state >> skipped >> skipped >> skipped >> skipped >> skipped >> inode;
      if (state == "0A" && inodes.count(inode)) addresses.insert(local.substr(0, local.find(':')));
    }
  }
  return addresses;
}

void hands_over_a_value(levin::RankStore& served, const std::string& secret) {
  levin::RankStore joined = levin::join_store("127.0.0.1", served.port, secret, /*several_machines=*/true, kSoon);
  joined.store->set("greeting", std::vector<uint8_t>{'h', 'i'});
  CHECK(served.store->get("greeting") == std::vector<uint8_t>{'h', 'i'});
}

}  // namespace

TEST_CASE("a store of one machine listens on loopback alone") {
  const std::set<std::string> before = sockets_of("self");
  const auto new_addresses = [&] {
    std::set<std::string> inodes = sockets_of("self");
    for (const std::string& one : before) inodes.erase(one);
    return listening(inodes);
  };
  const levin::StoreServer server;
  const std::set<std::string> addresses = new_addresses();
  REQUIRE_FALSE(addresses.empty());
  for (const std::string& address : addresses) CHECK(kLoopback.count(address) == 1);
}

TEST_CASE("a process that serves or joins a store outlives peers that leave, and leaves SIGPIPE as it was") {
  const auto handler = [] {
    struct sigaction now = {};
    ::sigaction(SIGPIPE, nullptr, &now);
    return now.sa_handler;
  };
  ::signal(SIGPIPE, SIG_DFL);
  {
    const levin::StoreServer server;
    CHECK(handler() == SIG_IGN);
    {
      const levin::RankStore joined =
          levin::join_store("127.0.0.1", server.port(), "", /*several_machines=*/false, kSoon);
      CHECK(handler() == SIG_IGN);
    }
    CHECK(handler() == SIG_IGN);
  }
  CHECK(handler() == SIG_DFL);
  const auto own = [](int) {};
  ::signal(SIGPIPE, own);
  {
    const levin::StoreServer server;
    CHECK(handler() == +own);
  }
  CHECK(handler() == +own);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST_CASE("the processes of a run on one machine listen on loopback alone") {
  const RankedFits fits;
  Spawned process = fits.start("run", {"--devices", "2", "--max-epochs", "2000", "--data.batch_size", "16"});
  for (int i = 0; i < 6000 && fits.rows("run").size() < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::set<std::string> inodes;
  int processes = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    std::string environment;
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    for (std::string word; std::getline(in, word, '\0');) environment += word + "\n";
    if (name != std::to_string(process.id()) &&
        !contains(environment, "LEVIN_SUPERVISOR=" + std::to_string(process.id()) + "\n"))
      continue;
    ++processes;
    inodes.merge(sockets_of(name));
  }
  CHECK(processes == 3);
  const std::set<std::string> addresses = listening(inodes);
  REQUIRE_FALSE(addresses.empty());
  for (const std::string& address : addresses) CHECK(kLoopback.count(address) == 1);
  ::kill(process.id(), SIGTERM);
  CHECK(process.wait() == 128 + SIGTERM);
}

TEST_CASE("a store with a secret accepts only peers that know it") {
  levin::RankStore served = levin::serve_store(0, {.on_loopback = true, .secret = "open sesame"}, kSoon);
  hands_over_a_value(served, "open sesame");
  // Several at a time, and c10d may open further connections.
  hands_over_a_value(served, "open sesame");
  const auto error_with = [&](const std::string& secret) {
    return error_text<levin::Error>([&] { levin::join_store("127.0.0.1", served.port, secret, true, kSoon); });
  };
  CHECK(contains(error_with("sesame"), "this rank was turned away"));
  CHECK(contains(error_with(""), "asks for a secret; set LEVIN_SECRET"));
  // A client that uses c10d's own protocol gets no answer.
  const StreamSocket stranger = StreamSocket::connect("127.0.0.1", served.port, kSoon);
  CHECK(stranger.send_all(std::string(64, '\1')));
  CHECK(stranger.receive(1024).size() < 64);
  hands_over_a_value(served, "open sesame");
}

TEST_CASE("a store without a secret refuses peers that have one, with the reason") {
  levin::RankStore served = levin::serve_store(0, {}, kSoon);
  hands_over_a_value(served, "");
  const std::string error =
      error_text<levin::Error>([&] { levin::join_store("127.0.0.1", served.port, "open sesame", true, kSoon); });
  CHECK(contains(error, "is set on this machine alone"));
}

TEST_CASE("a gate that does not know the secret itself is not trusted") {
  const StreamSocket listener = StreamSocket::listen(/*on_loopback=*/true, 0);
  bool admitted = true;
  std::thread gate([&] { admitted = levin::admit(listener.accept(), "a guess"); });
  const StreamSocket peer = StreamSocket::connect("127.0.0.1", listener.port(), kSoon);
  CHECK_FALSE(levin::prove(peer, "open sesame"));
  peer.shut_down();
  gate.join();
  CHECK_FALSE(admitted);
}

TEST_CASE("each secret differs from the one before") { CHECK(levin::make_secret() != levin::make_secret()); }
