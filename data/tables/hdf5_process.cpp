#include <levin/data/tables/hdf5_process.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace levin::data {
namespace {

constexpr unsigned kMostSeconds = 600;
constexpr size_t kMostIdle = 8;
constexpr int64_t kMostMessage = int64_t{1} << 30;

/// What stands before each message: for the child how many seconds it may take, for this process whether all went well.
struct Head {
  int64_t number = 0, size = 0;
};

/// Sends bytes and, with the first of them, a descriptor. Returns false if the other side has ended.
bool send_all(int socket, std::string_view bytes, int descriptor = -1) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room = {};
  while (!bytes.empty()) {
    iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      message.msg_control = room.data();
      message.msg_controllen = room.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    }
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
    descriptor = -1;
  }
  return true;
}

bool send_message(int socket, int64_t number, const std::string& bytes, int descriptor = -1) {
  const Head head{.number = number, .size = static_cast<int64_t>(bytes.size())};
  return send_all(socket, {reinterpret_cast<const char*>(&head), sizeof(head)}, descriptor) && send_all(socket, bytes);
}

/// Receives `bytes` bytes, and a descriptor if one comes with them. Returns false if the other side has ended.
bool receive_all(int socket, void* to, size_t bytes, Descriptor& descriptor) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room = {};
  for (size_t done = 0; done < bytes;) {
    iovec part = {static_cast<char*>(to) + done, bytes - done};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (!rights || rights->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(rights), sizeof(number));
    descriptor = Descriptor(number);
  }
  return true;
}

/// A message with what stands before it.
struct Received {
  int64_t number = 0;
  std::string bytes = {};
  Descriptor memory = {};
};

std::optional<Received> receive_message(int socket) {
  Head head;
  Received received;
  if (!receive_all(socket, &head, sizeof(head), received.memory)) return {};
  if (head.size < 0 || head.size > kMostMessage) return {};
  received.number = head.number;
  received.bytes.resize(static_cast<size_t>(head.size));
  if (!receive_all(socket, received.bytes.data(), received.bytes.size(), received.memory)) return {};
  return received;
}

void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0) == 0) return;
#endif
  constexpr long kMostClosed = 65536;
  for (int number = first; number < std::min(sysconf(_SC_OPEN_MAX), kMostClosed); ++number) ::close(number);
}

/// Makes the child quiet, its death without consequences, and closes all that belongs to this process: others wait for
/// its ends of sockets to close. The child itself ends when that of its own does. Returns the child's end.
int prepare_child(int socket) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGALRM, SIGPIPE, SIGCHLD})
    std::signal(signal, SIG_DFL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // the batches that follow need it
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  constexpr int kOwn = 3;
  const int kept = fcntl(socket, F_DUPFD, kOwn);
  for (int number = 0; number < kOwn; ++number)
    if (nothing >= 0) dup2(nothing, number);
  if (kept != kOwn) dup2(kept, kOwn);
  close_from(kOwn + 1);
  return kOwn;
}

/// Ends the child if it takes more of the processor, or waits for what never comes.
void limit_time(int64_t seconds) {
  timespec used = {};
  rlimit limit = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(used.tv_sec + 1 + seconds));
  setrlimit(RLIMIT_CPU, &limit);
  alarm(kMostSeconds);
}

/// The child's side: answers until the other end is closed, and never returns.
[[noreturn]] void serve(ChildProcesses::Work work, int socket) {
  while (std::optional<Received> request = receive_message(socket)) {
    limit_time(request->number);
    SealedMemory memory;
    bool is_sent = false;
    try {
      const Message made = work(Message(std::move(request->bytes)), memory);
      is_sent = send_message(socket, 1, made.bytes(), memory.seal());
    } catch (const std::exception& error) {
      is_sent = send_message(socket, 0, error.what());
    }
    alarm(0);
    if (!is_sent) break;
  }
  _exit(0);
}

}  // namespace

class ChildProcesses::Child {
 public:
  explicit Child(Work work) {
    std::array<int, 2> ends = {-1, -1};
    const bool has_ends = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
    socket_ = Descriptor(ends[0]);
    const Descriptor other(ends[1]);
    process_ = has_ends ? fork() : -1;
    if (process_ < 0)
      throw std::runtime_error(std::string("cannot be read in a process of its own: ") + std::strerror(errno));
    if (process_ == 0) serve(work, prepare_child(other.number()));
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Returns whether it belongs to this process, and not to one of which this is a copy.
  bool is_own() const { return owner_ == getpid(); }

  std::optional<Received> ask(const Message& request, int64_t seconds) {
    if (!send_message(socket_.number(), seconds, request.bytes())) return {};
    return receive_message(socket_.number());
  }

  /// Ends it, and returns how it had ended before.
  std::string end() {
    socket_.close();
    if (process_ <= 0 || !is_own()) return "";
    int status = 0;
    pid_t ended = 0;
    ::kill(process_, SIGKILL);  // without effect if it has ended, as one that does not answer has
    while ((ended = waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
    }
    // Another part of the program may have waited for all its children.
    const bool is_late =
        ended == process_ && WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGALRM);
    process_ = -1;
    return is_late ? "took too long over it" : "crashed on it";
  }

 private:
  Descriptor socket_ = {};
  pid_t process_ = -1, owner_ = getpid();
};

ChildProcesses::ChildProcesses(Work work) : work_(work) {}
ChildProcesses::~ChildProcesses() = default;

std::unique_ptr<ChildProcesses::Child> ChildProcesses::take_idle() {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [](const std::unique_ptr<Child>& child) { return !child->is_own(); });
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Child> child = std::move(idle_.back());
  idle_.pop_back();
  return child;
}

void ChildProcesses::give_back(std::unique_ptr<Child> child) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(child));
}

ChildAnswer ChildProcesses::run(const Message& request, int64_t seconds) {
  std::unique_ptr<Child> child = take_idle();
  std::optional<Received> answer = child ? child->ask(request, seconds) : std::nullopt;
  if (!answer) {  // an earlier file may have damaged it
    child = std::make_unique<Child>(work_);
    answer = child->ask(request, seconds);
  }
  if (!answer) throw std::runtime_error("the HDF5 library " + child->end() + ": the file is damaged");
  if (answer->number != 1) throw std::runtime_error(answer->bytes);
  give_back(std::move(child));
  ChildAnswer result{.message = Message(std::move(answer->bytes))};
  if (answer->memory.is_open()) result.memory = map_sealed(answer->memory);
  return result;
}

}  // namespace levin::data
