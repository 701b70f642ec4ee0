// The same program under torchrun and mpirun, and on two machines without a launcher.
#include <signal.h>
#include <unistd.h>

#include "tests/trainer/launch/ranks.h"

namespace {

using Flags = RankedFits::Flags;
const RankedFits::Flags kHalfBatch = {"--data.batch_size", "32"};

bool is_installed(const std::string& program) {
  const std::string command = "command -v " + program + " > /dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("torchrun starts the ranks") {
  const RankedFits::Flags launcher = torchrun();
  if (launcher.empty()) return;
  const RankedFits fits;
  CHECK(difference(fits.weights("torchrun", kHalfBatch, launcher), fits.weights("one", {})) < 1e-10);
  CHECK(contains(fits.log("torchrun"), "strategy ddp (2 ranks of torchrun)"));
  // Each rank refuses flags that contradict the launcher.
  CHECK(fits.start("three", joined(kHalfBatch, {"--devices", "3"}), launcher).wait() != 0);
  CHECK(contains(fits.log("three"), "trainer.devices asks for 3 on each machine, and torchrun has started 2 ranks"));
}

TEST_CASE("mpirun starts the ranks") {
  if (!is_installed("mpirun")) {
    WARN("skipped: there is no mpirun (Debian's openmpi-bin)");
    return;
  }
  const RankedFits fits;
  // By the script for users; the command already has its first two words.
  const std::string script = std::string(std::getenv("LEVIN_CONFIGS")) + "/mpi/ddp.sh";
  std::vector<std::string> words = fits.command("mpirun", kHalfBatch);
  const std::string program = "LEVIN=" + words[0];
  words.erase(words.begin(), words.begin() + 2);
  words.insert(words.begin(), script);
  CHECK(Spawned(words, fits.folder / "mpirun.log", {program, "RANKS=2"}).wait() == 0);
  INFO(fits.log("mpirun"));
  CHECK(difference(fits.saved_weights("mpirun"), fits.weights("one", {})) < 1e-10);
  CHECK(contains(fits.log("mpirun"), "strategy ddp (2 ranks of mpirun)"));
}

TEST_CASE("two machines of two ranks each train with a supervisor on each") {
  const RankedFits fits;
  RankedFits::Flags flags = {"--devices", "2", "--num-nodes", "2", "--data.batch_size", "16"};
  // A port that was free a moment ago.
  const int64_t port = levin::StoreServer().port();
  const auto variables = [&](int node) {
    return std::vector<std::string>{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port),
                                    "NODE_RANK=" + std::to_string(node)};
  };
  Spawned second(fits.command("nodes", flags), fits.folder / "second.log", variables(1));
  CHECK(fits.start("nodes", flags, {}, variables(0)).wait() == 0);
  CHECK(second.wait() == 0);
  INFO(fits.log("nodes"));
  CHECK(difference(fits.saved_weights("nodes"), fits.weights("one", {})) < 1e-10);
}

TEST_CASE("levin launch prints the command of each machine, and names what is missing") {
  const std::string levin = std::string(std::getenv("LEVIN_PROGRAM")) + " launch ";
  const TemporaryFolder folder;
  const auto run = [&](const std::string& arguments) {
    const std::string out = (folder / "out").string();
    const int status = std::system((levin + arguments + " > '" + out + "' 2>&1").c_str());
    return std::pair(WEXITSTATUS(status), read_bytes(out));
  };
  const auto [code, text] = run("--hosts me@a,b --port 1234 fit --config \"it's.json\" --devices 8");
  INFO(text);
  CHECK(code == 0);
  CHECK(text.rfind("ssh me@a 'cd ", 0) == 0);
  CHECK(contains(text, "env MASTER_ADDR=a MASTER_PORT=1234 NODE_RANK=0 "));
  CHECK(contains(text, "\nssh b 'cd "));
  CHECK(contains(text, "env MASTER_ADDR=a MASTER_PORT=1234 NODE_RANK=1 "));
  CHECK(contains(text, " --devices 8 --num-nodes 2'\n"));
  CHECK(run("fit --devices 8").second ==
        "levin: error: levin launch: --hosts is missing; name the machines: --hosts a,b,c\n");
  CHECK(contains(run("--hosts a,,b fit").second, "--hosts: \"\" is no name of a machine"));
  CHECK(contains(run("--hosts a").second, "launch: what to run is missing"));
  CHECK(contains(run("--hosts a,b fit --num-nodes 3").second, "the number of machines is that of --hosts"));
  CHECK(contains(run("--hosts a,b --prot 1 fit").second, "levin launch: no flag --prot (did you mean --port?)"));
}

TEST_CASE("levin launch --run starts and watches machines by ssh") {
  if (!is_installed("/usr/sbin/sshd") || !is_installed("ssh")) {
    WARN("skipped: there is no sshd (Debian's openssh-server)");
    return;
  }
  // A separate ssh server with new keys, on two addresses.
  const RankedFits fits;
  const int64_t port = levin::StoreServer().port(), meeting = levin::StoreServer().port();
  const auto path = [&](const char* name) { return (fits.folder / name).string(); };
  for (const char* key : {"host_key", "user_key"})
    REQUIRE(std::system(("ssh-keygen -q -t ed25519 -N '' -f '" + path(key) + "'").c_str()) == 0);
  write_bytes(fits.folder / "sshd_config", "Port " + std::to_string(port) +
                                               "\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\nHostKey " +
                                               path("host_key") + "\nAuthorizedKeysFile " + path("user_key.pub") +
                                               "\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n");
  if (::geteuid() == 0) std::filesystem::create_directories("/run/sshd");
  Spawned server({"/usr/sbin/sshd", "-D", "-e", "-f", path("sshd_config")}, fits.folder / "sshd.log");
  const std::string ssh = "ssh -p " + std::to_string(port) + " -i " + path("user_key") +
                          " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
                          " -o ConnectionAttempts=20";
  const auto launch = [&](const std::string& name, const RankedFits::Flags& flags) {
    std::vector<std::string> words = fits.command(name, flags);
    words.insert(words.begin() + 1, {"launch", "--hosts", "127.0.0.1,127.0.0.2", "--port", std::to_string(meeting),
                                     "--ssh", ssh, "--run"});
    return Spawned(words, fits.folder / (name + ".log")).wait();
  };
  const RankedFits::Flags two = {"--devices", "2", "--data.batch_size", "16"};
  const int code = launch("launched", two);
  INFO(fits.log("launched") << read_bytes(fits.folder / "sshd.log"));
  CHECK(code == 0);
  if (code == 0) CHECK(difference(fits.saved_weights("launched"), fits.weights("one", {})) < 1e-10);
  // Failures on the other machine are shown here.
  CHECK(launch("wrong", joined(two, {"--model.optimizer.lr", "-1"})) == 2);
  INFO(fits.log("wrong"));
  CHECK(contains(fits.log("wrong"), "levin: node "));
  CHECK(contains(fits.log("wrong"), "failed with exit code 2"));
  ::kill(server.id(), SIGTERM);
  server.wait();
}

TEST_CASE("a master that cannot be reached, and a port that is taken, are named") {
  const RankedFits fits;
  const RankedFits::Flags flags = {"--timeout-seconds", "2"};
  const auto rank = [](int number, const std::string& port) {
    return std::vector<std::string>{
        "RANK=" + std::to_string(number), "WORLD_SIZE=2",       "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
        "MASTER_ADDR=127.0.0.1",          "MASTER_PORT=" + port};
  };
  CHECK(fits.start("alone", flags, {}, rank(1, "1")).wait() == 2);
  INFO(fits.log("alone"));
  CHECK(contains(fits.log("alone"), "rank 1 of 2 has not reached 127.0.0.1:1 in "));
  CHECK_FALSE(contains(fits.log("alone"), "frame #"));
  const levin::StoreServer taken;
  CHECK(fits.start("taken", flags, {}, rank(0, std::to_string(taken.port()))).wait() == 2);
  INFO(fits.log("taken"));
  CHECK(contains(fits.log("taken"), "cannot serve the store that the ranks meet at on 127.0.0.1:"));
}

TEST_CASE("an unknown name of the first machine is an error at once") {
  const RankedFits fits;
  const std::vector<std::string> somewhere = {"MASTER_ADDR=no-such-machine.invalid", "MASTER_PORT=29512"};
  const auto says_so = [&](const std::string& name, const std::vector<std::string>& more, const Flags& flags) {
    std::vector<std::string> variables = somewhere;
    variables.insert(variables.end(), more.begin(), more.end());
    CHECK(fits.start(name, joined({"--timeout-seconds", "1"}, flags), {}, variables).wait() == 2);
    INFO(fits.log(name));
    CHECK(contains(fits.log(name), "MASTER_ADDR: no machine is found by the name \"no-such-machine.invalid\""));
    CHECK_FALSE(contains(fits.log(name), "port"));
  };
  says_so("first", {"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"}, {});
  says_so("second", {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"}, {});
  says_so("supervisor", {"NODE_RANK=0"}, {"--devices", "2", "--num-nodes", "2"});
}

TEST_CASE("machines that share a secret meet, and those without it are turned away") {
  const RankedFits fits;
  const RankedFits::Flags flags = {"--devices", "2", "--num-nodes", "2", "--data.batch_size", "16"};
  const int64_t port = levin::StoreServer().port();
  const auto variables = [&](int node, const std::string& secret) {
    std::vector<std::string> all = {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port),
                                    "NODE_RANK=" + std::to_string(node)};
    if (!secret.empty()) all.push_back("LEVIN_SECRET=" + secret);
    return all;
  };
  {
    Spawned second(fits.command("nodes", flags), fits.folder / "second.log", variables(1, "open sesame"));
    CHECK(fits.start("nodes", flags, {}, variables(0, "open sesame")).wait() == 0);
    INFO(fits.log("nodes") << read_bytes(fits.folder / "second.log"));
    CHECK(second.wait() == 0);
    CHECK(difference(fits.saved_weights("nodes"), fits.weights("one", {})) < 1e-10);
  }
  const std::map<std::string, std::string> errors = {
      {"sesame", "this rank was turned away: LEVIN_SECRET is not the text that it is there"},
      {"", "its store asks for a secret; set LEVIN_SECRET"}};
  for (const auto& [secret, error] : errors) {
    Spawned first(fits.command("first", flags), fits.folder / "first.log", variables(0, "open sesame"));
    CHECK(fits.start("away", flags, {}, variables(1, secret)).wait() == 2);
    INFO(fits.log("away"));
    CHECK(contains(fits.log("away"), "cannot join the others at 127.0.0.1:" + std::to_string(port) + ": " + error));
    // The rank has reached the store, and the reason is what stands there.
    CHECK_FALSE(contains(fits.log("away"), "has not reached"));
    CHECK_FALSE(contains(fits.log("away"), "frame #"));
    // The second ends it at once. Two signals that come together are one, and the ranks would wait for timeout_seconds.
    ::kill(first.id(), SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(first.id(), SIGTERM);
    first.wait();
  }
}

TEST_CASE("levin launch --run brings a secret to the machines that no command line shows") {
  const RankedFits fits;
  // This machine, reached by a program that replaces ssh and records its arguments.
  const std::string ssh = (fits.folder / "ssh").string(), home = (fits.folder / "home").string();
  std::filesystem::create_directories(home);
  write_bytes(ssh, "#!/bin/sh\necho \"$@\" >> '" + ssh +
                       ".asked'\n[ \"$1\" = -tt ] && shift\nshift\nexec env -i PATH=\"$PATH\" HOME='" + home +
                       "' /bin/sh -c \"$*\"\n");
  std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
  std::vector<std::string> words = fits.command("launched", {"--devices", "2", "--data.batch_size", "16"});
  words.insert(words.begin() + 1, {"launch", "--hosts", "127.0.0.1,127.0.0.1", "--port",
                                   std::to_string(levin::StoreServer().port()), "--ssh", ssh, "--run"});
  const std::string secret = "a secret of the test";
  const int code = Spawned(words, fits.folder / "launched.log", {"LEVIN_SECRET=" + secret}).wait();
  INFO(fits.log("launched"));
  CHECK(code == 0);
  CHECK(difference(fits.saved_weights("launched"), fits.weights("one", {})) < 1e-10);
  const std::string asked = read_bytes(ssh + ".asked");
  CHECK(contains(asked, "LEVIN_SECRET=$(cat ~/.levin_secret_"));
  CHECK_FALSE(contains(asked, secret));
  CHECK(std::filesystem::is_empty(home));
}

TEST_CASE("ranks with different configs or programs get an error that names the difference") {
  const RankedFits fits;
  const int64_t port = levin::StoreServer().port();
  const auto rank = [&](int number) {
    return std::vector<std::string>{"RANK=" + std::to_string(number),
                                    "WORLD_SIZE=2",
                                    "LOCAL_RANK=" + std::to_string(number),
                                    "LOCAL_WORLD_SIZE=2",
                                    "MASTER_ADDR=127.0.0.1",
                                    "MASTER_PORT=" + std::to_string(port)};
  };
  Spawned first(fits.command("other", {"--model.optimizer.lr", "0.05"}), fits.folder / "first.log", rank(0));
  Spawned second(fits.command("other", {"--model.optimizer.lr", "0.06"}), fits.folder / "second.log", rank(1));
  CHECK(second.wait() == 2);
  CHECK(first.wait() != 0);
  const std::string log = read_bytes(fits.folder / "second.log");
  INFO(log);
  CHECK(contains(log, "rank 1 was started with another config than rank 0: \"lr\": 0.06"));
  // The same program except for a byte that is not used.
  const std::string copy = (fits.folder / "levin").string();
  std::filesystem::copy_file(std::getenv("LEVIN_PROGRAM"), copy);
  std::ofstream(copy, std::ios::app) << "x";
  std::vector<std::string> words = fits.command("program", {});
  Spawned of_levin(words, fits.folder / "first.log", rank(0));
  words[0] = copy;
  Spawned of_copy(words, fits.folder / "second.log", rank(1));
  CHECK(of_copy.wait() == 2);
  CHECK(of_levin.wait() != 0);
  INFO(read_bytes(fits.folder / "second.log"));
  CHECK(contains(read_bytes(fits.folder / "second.log"), "rank 1 runs another program than rank 0 (LibTorch "));
}
