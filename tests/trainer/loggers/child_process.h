#pragma once
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

/// A fork that runs `body`, which must not use LibTorch's threads, and can send text to the parent.
class ChildProcess {
 public:
  using Tell = std::function<void(const std::string&)>;

  explicit ChildProcess(const std::function<void(const Tell&)>& body) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) run(body, ends[1]);
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~ChildProcess() {
    if (pid_ > 0) {
      kill(SIGKILL);
      wait();
    }
    if (fd_ >= 0) ::close(fd_);
  }
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), fd_(std::exchange(other.fd_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// Waits for the next text from the child and returns it.
  std::string read_some() const {
    char text[4096];
    const ssize_t size = ::read(fd_, text, sizeof text);
    return {text, static_cast<size_t>(size < 0 ? 0 : size)};
  }
  /// Returns all text from the child until it ends.
  std::string read_all() const {
    std::string all;
    for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
    return all;
  }
  void kill(int signal) const { ::kill(pid_, signal); }
  /// Waits for the exit code, or returns minus the signal that ended the child.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  [[noreturn]] static void run(const std::function<void(const Tell&)>& body, int fd) {
    try {
      body([fd](const std::string& text) {
        if (::write(fd, text.data(), text.size()) < 0) ::_exit(2);
      });
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  int fd_ = -1;
};
