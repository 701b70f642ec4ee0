#include <levin/data/tables/hdf5_process.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace levin::data {
namespace {

constexpr unsigned kMostSeconds = 600;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number < 0)
      throw std::runtime_error(std::string("cannot be read in a process of its own: ") + std::strerror(errno));
  }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

/// Makes the child quiet, and its death without consequences.
void prepare_child(int64_t seconds) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGALRM, SIGTERM, SIGINT, SIGPIPE})
    std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0}, processor = {static_cast<rlim_t>(seconds), static_cast<rlim_t>(seconds)};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(kMostSeconds);  // if it waits for what never comes
  setrlimit(RLIMIT_CPU, &processor);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing >= 0) {
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
  }
}

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

/// Reads up to `bytes`, fewer if the other end is closed.
std::string read_some(int file, size_t bytes) {
  std::string text(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(file, text.data() + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

/// The child's side: it writes whether all went well, and its message or what went wrong, and never returns.
[[noreturn]] void serve(int64_t seconds, const std::function<Message(int)>& work, int memory, int answer) {
  prepare_child(seconds);
  Message all;
  try {
    const Message made = work(memory);
    all.put(1);
    all.put(made.bytes());
  } catch (const std::exception& error) {
    all = Message();
    all.put(0);
    all.put(error.what());
  }
  write_all(answer, all.bytes());
  _exit(0);
}

std::string end_of(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  // Another part of the program may have waited for all its children.
  if (ended == child && WIFSIGNALED(status))
    for (const int late : {SIGXCPU, SIGKILL, SIGALRM})
      if (WTERMSIG(status) == late) return "took too long over it";
  return "crashed on it";
}

}  // namespace

int64_t Message::take_number() {
  int64_t number = 0;
  if (bytes_.size() - taken_ < sizeof(number)) throw std::runtime_error("the process that read it gave half an answer");
  std::memcpy(&number, bytes_.data() + taken_, sizeof(number));
  taken_ += sizeof(number);
  return number;
}

std::string Message::take_text() {
  const int64_t size = take_number();
  if (size < 0 || static_cast<uint64_t>(size) > bytes_.size() - taken_)
    throw std::runtime_error("the process that read it gave half an answer");
  taken_ += static_cast<size_t>(size);
  return bytes_.substr(taken_ - static_cast<size_t>(size), static_cast<size_t>(size));
}

ChildAnswer run_in_child(int64_t seconds, const std::function<Message(int file)>& work) {
  const Descriptor memory(memfd_create("levin_hdf5", MFD_CLOEXEC));
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  const Descriptor answer(ends[0]);
  Descriptor sender(ends[1]);
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error(std::string("cannot be read in a process of its own: ") + std::strerror(errno));
  if (child == 0) serve(seconds, work, memory, sender);
  sender.close();
  constexpr size_t kHead = 2 * sizeof(int64_t);
  constexpr int64_t kMostMessage = int64_t{1} << 30;
  const std::string head = read_some(answer, kHead);
  Message sizes(head);
  const bool has_head = head.size() == kHead;
  const bool is_well = has_head && sizes.take_number() == 1;
  const int64_t size = has_head ? sizes.take_number() : 0;
  std::string text = size > 0 && size <= kMostMessage ? read_some(answer, static_cast<size_t>(size)) : "";
  const std::string end = end_of(child);
  if (!has_head || static_cast<int64_t>(text.size()) != size)
    throw std::runtime_error("the HDF5 library " + end + ": the file is damaged");
  if (!is_well) throw std::runtime_error(text);
  ChildAnswer result{.message = Message(std::move(text))};
  struct stat status = {};
  if (fstat(memory, &status) != 0 || status.st_size == 0) return result;
  result.bytes = status.st_size;
  void* const mapped = mmap(nullptr, static_cast<size_t>(result.bytes), PROT_READ, MAP_PRIVATE, memory, 0);
  if (mapped == MAP_FAILED)
    throw std::runtime_error(std::string("its values cannot be mapped: ") + std::strerror(errno));
  const auto bytes = static_cast<size_t>(result.bytes);
  result.memory.reset(static_cast<std::byte*>(mapped), [bytes](std::byte* begin) { munmap(begin, bytes); });
  return result;
}

}  // namespace levin::data
