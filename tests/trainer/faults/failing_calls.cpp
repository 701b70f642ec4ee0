// A library for LD_PRELOAD: the k-th system call that concerns a folder fails, writes or reads less than asked for, or
// is preceded by a signal. faults.py sets the variables:
//
//     LEVIN_FAULTS_FOLDER   calls on files below it count, and threads that are started after the first of them, except
//                           by LibTorch: its ProcessGroupGloo calls std::terminate if its second thread cannot start
//     LEVIN_FAULTS_STATE    a file of kStateBytes bytes, outside of that folder, which the processes of a case share:
//                           counts of calls, what failed, and a file that was changed outside of LEVIN_FAULTS_ALLOWED
//     LEVIN_FAULTS_CALL     the calls of which one fails: a name of kNames, or "any"
//     LEVIN_FAULTS_FILE     calls on files whose path contains this are numbered alone
//     LEVIN_FAULTS_AT       the number of the call, from 1, in all processes of the case together
//     LEVIN_FAULTS_HOW      EIO, ENOSPC, EINTR, ...; "short"; SIGKILL, SIGTERM, ...: a signal to the process
//     LEVIN_FAULTS_LASTS    1: all later calls fail as well
//     LEVIN_FAULTS_ALLOWED  where files may be changed, as FOLDER:FOLDER
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

enum Call { kWrite, kRead, kSync, kRename, kOpen, kMkdir, kMmap, kLink, kThread, kCalls };
constexpr std::array<std::string_view, kCalls> kNames = {"write", "read", "fsync", "rename",        "open",
                                                         "mkdir", "mmap", "link",  "pthread_create"};
constexpr size_t kStateBytes = 4096;
constexpr size_t kTextBytes = 1024;

/// What the processes of a case share. faults.py reads it.
struct State {
  std::atomic<int64_t> all, each[kCalls], of_file, faults, outside;
  char fault[kTextBytes], changed[kTextBytes];
};
static_assert(sizeof(State) <= kStateBytes && std::atomic<int64_t>::is_always_lock_free);

/// It has no destructor: other threads may call after the end of main.
struct Case {
  State* state = nullptr;  ///< null until the constructor has run, and without the variables
  std::string_view folder = {}, allowed = {}, file = {};
  int call = -1;  ///< kCalls: any
  int64_t at = 0;
  int error = 0, signal = 0;
  bool is_short = false, lasts = false;
};
Case the_case;
std::atomic<bool> has_touched = false;

struct Word {
  std::string_view name;
  int number;
};
constexpr std::array kErrors = {Word{"EIO", EIO},       Word{"ENOSPC", ENOSPC}, Word{"EINTR", EINTR},
                                Word{"EMFILE", EMFILE}, Word{"ENOMEM", ENOMEM}, Word{"EAGAIN", EAGAIN},
                                Word{"EACCES", EACCES}};
constexpr std::array kSignals = {Word{"SIGKILL", SIGKILL}, Word{"SIGTERM", SIGTERM}, Word{"SIGINT", SIGINT},
                                 Word{"SIGHUP", SIGHUP},   Word{"SIGSTOP", SIGSTOP}, Word{"SIGUSR1", SIGUSR1}};

template <size_t N>
int number_of(const std::array<Word, N>& words, std::string_view name) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.name == name; });
  return found == words.end() ? 0 : found->number;
}

/// Returns a copy, since programs change their environment.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : ::strdup(value);
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// Resolves "." and "..", but no links.
std::string whole(int folder, const char* path) {
  std::string text = path == nullptr ? "" : path;
  if (!text.starts_with('/')) {
    char base[4096];
    const std::string link = folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
    const ssize_t size = ::readlink(link.c_str(), base, sizeof(base));
    if (size > 0) text = std::string(base, static_cast<size_t>(size)) + "/" + text;
  }
  std::string normal;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    if (part == "..")
      normal.resize(std::min(normal.rfind('/'), normal.size()));
    else if (!part.empty() && part != ".")
      normal.append("/").append(part);
    begin = end + 1;
  }
  return normal;
}

/// The path of an open file. It allocates nothing: signal handlers write, too.
struct OpenPath {
  explicit OpenPath(int descriptor) {
    char link[32];
    std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    size = ::readlink(link, text, sizeof(text));
  }
  std::string_view view() const { return {text, size > 0 ? static_cast<size_t>(size) : 0}; }
  char text[4096];
  ssize_t size;
};

/// What happens to a call.
enum class Fate { Goes, Fails, IsShort };

Fate fate_of_counted(Call call, std::string_view path) {
  const int64_t of_all = ++the_case.state->all, of_its = ++the_case.state->each[call];
  if (the_case.call != kCalls && the_case.call != call) return Fate::Goes;
  if (!the_case.file.empty() && path.find(the_case.file) == std::string_view::npos) return Fate::Goes;
  const int64_t number = !the_case.file.empty() ? ++the_case.state->of_file : the_case.call == kCalls ? of_all : of_its;
  if (number != the_case.at && !(the_case.lasts && number > the_case.at)) return Fate::Goes;
  if (++the_case.state->faults == 1)
    std::snprintf(the_case.state->fault, kTextBytes, "%s of %.*s in process %d", kNames[call].data(),
                  static_cast<int>(path.size()), path.data(), static_cast<int>(::getpid()));
  if (the_case.signal != 0) {
    ::kill(::getpid(), the_case.signal);
    return Fate::Goes;
  }
  if (the_case.is_short) return Fate::IsShort;
  errno = the_case.error;
  return Fate::Fails;
}

Fate fate_of_path(Call call, std::string_view path) {
  if (the_case.state == nullptr || !is_below(path, the_case.folder)) return Fate::Goes;
  has_touched = true;
  return fate_of_counted(call, path);
}

Fate fate_of_descriptor(Call call, int descriptor) {
  if (the_case.state == nullptr || descriptor < 0) return Fate::Goes;
  const int before = errno;
  const OpenPath path(descriptor);
  errno = before;
  return fate_of_path(call, path.view());
}

/// Notes a file that is changed where none may be.
void changes(const std::string& path) {
  if (the_case.state == nullptr || is_below(path, "/dev") || is_below(path, "/proc")) return;
  for (std::string_view rest = the_case.allowed; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (is_below(path, rest.substr(0, end))) return;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (++the_case.state->outside == 1) std::snprintf(the_case.state->changed, kTextBytes, "%s", path.c_str());
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// Returns whether LibTorch itself starts a thread here.
bool starts_for_libtorch() {
  std::array<void*, 6> callers = {};
  const int count = ::backtrace(callers.data(), static_cast<int>(callers.size()));
  return std::any_of(callers.begin(), callers.begin() + count, [](void* caller) {
    Dl_info about = {};
    return ::dladdr(caller, &about) != 0 && about.dli_fname != nullptr &&
           std::string_view(about.dli_fname).find("libtorch") != std::string_view::npos;
  });
}

size_t half(size_t count) { return count > 1 ? count / 2 : count; }

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (the_case.state != nullptr) {
    const std::string file = whole(folder, path);
    if (fate_of_path(kOpen, file) == Fate::Fails) return -1;
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0) changes(file);
  }
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

__attribute__((constructor)) void begin() {
  const std::string_view state = variable("LEVIN_FAULTS_STATE");
  if (state.empty()) return;
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, state.data(), O_RDWR | O_CLOEXEC, 0));
  if (file < 0) return;
  void* const shared =
      reinterpret_cast<void*>(::syscall(SYS_mmap, nullptr, kStateBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ::close(file);
  if (shared == MAP_FAILED) return;
  the_case.folder = variable("LEVIN_FAULTS_FOLDER");
  the_case.allowed = variable("LEVIN_FAULTS_ALLOWED");
  the_case.file = variable("LEVIN_FAULTS_FILE");
  const std::string_view call = variable("LEVIN_FAULTS_CALL"), how = variable("LEVIN_FAULTS_HOW");
  const auto found = std::find(kNames.begin(), kNames.end(), call);
  the_case.call = call.empty() ? -1 : static_cast<int>(found - kNames.begin());
  the_case.at = std::atoll(variable("LEVIN_FAULTS_AT").data());
  the_case.error = number_of(kErrors, how);
  the_case.signal = number_of(kSignals, how);
  the_case.is_short = how == "short";
  the_case.lasts = variable("LEVIN_FAULTS_LASTS") == "1";
  the_case.state = static_cast<State*>(shared);
}

/// Where a call is made under several names, with checks of sizes or without.
int open_with(int folder, const char* path, int flags, std::va_list rest) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return open_at(folder, path, flags, makes ? va_arg(rest, mode_t) : 0);
}

ssize_t write_to(int file, const void* data, size_t count) {
  const Fate fate = fate_of_descriptor(kWrite, file);
  if (fate == Fate::Fails) return -1;
  return ::syscall(SYS_write, file, data, fate == Fate::IsShort ? half(count) : count);
}

ssize_t read_from(int file, void* data, size_t count) {
  const Fate fate = fate_of_descriptor(kRead, file);
  if (fate == Fate::Fails) return -1;
  return ::syscall(SYS_read, file, data, fate == Fate::IsShort ? half(count) : count);
}

ssize_t read_at(int file, void* data, size_t count, off_t offset) {
  const Fate fate = fate_of_descriptor(kRead, file);
  if (fate == Fate::Fails) return -1;
  return ::syscall(SYS_pread64, file, data, fate == Fate::IsShort ? half(count) : count, offset);
}

std::FILE* open_stream(const char* name, const char* path, const char* mode) {
  if (the_case.state != nullptr) {
    const std::string file = whole(AT_FDCWD, path);
    // The C library itself opens the file again after EINTR.
    if (the_case.error != EINTR && fate_of_path(kOpen, file) == Fate::Fails) return nullptr;
    if (std::string_view(mode).find_first_of("wa+") != std::string_view::npos) changes(file);
  }
  return next<std::FILE*(const char*, const char*)>(name)(path, mode);
}

}  // namespace

// The names under which programs call. Other names in the source keep clear of what the headers declare.
#define LEVIN_CALLED(result, name, symbol, ...)                                               \
  extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__) __asm__(symbol); \
  extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__)

#define LEVIN_OPEN(name, symbol)                                      \
  LEVIN_CALLED(int, name, symbol, const char* path, int flags, ...) { \
    std::va_list rest;                                                \
    va_start(rest, flags);                                            \
    const int file = open_with(AT_FDCWD, path, flags, rest);          \
    va_end(rest);                                                     \
    return file;                                                      \
  }
#define LEVIN_OPENAT(name, symbol)                                                \
  LEVIN_CALLED(int, name, symbol, int folder, const char* path, int flags, ...) { \
    std::va_list rest;                                                            \
    va_start(rest, flags);                                                        \
    const int file = open_with(folder, path, flags, rest);                        \
    va_end(rest);                                                                 \
    return file;                                                                  \
  }
LEVIN_OPEN(called_open, "open")
LEVIN_OPEN(called_open64, "open64")
LEVIN_OPENAT(called_openat, "openat")
LEVIN_OPENAT(called_openat64, "openat64")
LEVIN_CALLED(int, called_open_2, "__open_2", const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
LEVIN_CALLED(int, called_open64_2, "__open64_2", const char* path, int flags) {
  return open_at(AT_FDCWD, path, flags, 0);
}
LEVIN_CALLED(std::FILE*, called_fopen, "fopen", const char* path, const char* mode) {
  return open_stream("fopen", path, mode);
}
LEVIN_CALLED(std::FILE*, called_fopen64, "fopen64", const char* path, const char* mode) {
  return open_stream("fopen64", path, mode);
}
LEVIN_CALLED(ssize_t, called_write, "write", int file, const void* data, size_t count) {
  return write_to(file, data, count);
}
LEVIN_CALLED(ssize_t, called_writev, "writev", int file, const iovec* parts, int count) {
  const Fate fate = fate_of_descriptor(kWrite, file);
  if (fate == Fate::Fails) return -1;
  if (fate == Fate::IsShort && count > 0) return ::syscall(SYS_write, file, parts[0].iov_base, half(parts[0].iov_len));
  return ::syscall(SYS_writev, file, parts, count);
}
LEVIN_CALLED(ssize_t, called_pwrite, "pwrite", int file, const void* data, size_t count, off_t offset) {
  const Fate fate = fate_of_descriptor(kWrite, file);
  if (fate == Fate::Fails) return -1;
  return ::syscall(SYS_pwrite64, file, data, fate == Fate::IsShort ? half(count) : count, offset);
}
LEVIN_CALLED(ssize_t, called_pwrite64, "pwrite64", int file, const void* data, size_t count, off_t offset) {
  return called_pwrite(file, data, count, offset);
}
LEVIN_CALLED(ssize_t, called_read, "read", int file, void* data, size_t count) { return read_from(file, data, count); }
LEVIN_CALLED(ssize_t, called_read_chk, "__read_chk", int file, void* data, size_t count, size_t /*room*/) {
  return read_from(file, data, count);
}
LEVIN_CALLED(ssize_t, called_pread, "pread", int file, void* data, size_t count, off_t offset) {
  return read_at(file, data, count, offset);
}
LEVIN_CALLED(ssize_t, called_pread64, "pread64", int file, void* data, size_t count, off_t offset) {
  return read_at(file, data, count, offset);
}
LEVIN_CALLED(int, called_fsync, "fsync", int file) {
  if (fate_of_descriptor(kSync, file) == Fate::Fails) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}
LEVIN_CALLED(int, called_rename, "rename", const char* from, const char* to) {
  if (the_case.state != nullptr) {
    if (fate_of_path(kRename, whole(AT_FDCWD, to)) == Fate::Fails) return -1;
    for (const char* path : {from, to}) changes(whole(AT_FDCWD, path));
  }
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
LEVIN_CALLED(int, called_link, "link", const char* from, const char* to) {
  if (the_case.state != nullptr) {
    if (fate_of_path(kLink, whole(AT_FDCWD, to)) == Fate::Fails) return -1;
    changes(whole(AT_FDCWD, to));
  }
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
LEVIN_CALLED(int, called_mkdir, "mkdir", const char* path, mode_t mode) {
  if (the_case.state != nullptr) {
    if (fate_of_path(kMkdir, whole(AT_FDCWD, path)) == Fate::Fails) return -1;
    changes(whole(AT_FDCWD, path));
  }
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
LEVIN_CALLED(int, called_unlink, "unlink", const char* path) {
  if (the_case.state != nullptr) changes(whole(AT_FDCWD, path));
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
LEVIN_CALLED(int, called_unlinkat, "unlinkat", int folder, const char* path, int flags) {
  if (the_case.state != nullptr) changes(whole(folder, path));
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}
LEVIN_CALLED(void*, called_mmap, "mmap", void* place, size_t size, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_ANONYMOUS) == 0 && fate_of_descriptor(kMmap, file) == Fate::Fails) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, place, size, protection, flags, file, offset));
}
LEVIN_CALLED(void*, called_mmap64, "mmap64", void* place, size_t size, int protection, int flags, int file,
             off_t offset) {
  return called_mmap(place, size, protection, flags, file, offset);
}
LEVIN_CALLED(int, called_pthread_create, "pthread_create", pthread_t* thread, const pthread_attr_t* attributes,
             void* (*function)(void*), void* argument) {
  if (the_case.state != nullptr && has_touched && !starts_for_libtorch() &&
      fate_of_counted(kThread, "a thread") == Fate::Fails)
    return the_case.error;
  return next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(thread, attributes,
                                                                                                 function, argument);
}
