#pragma once
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace levin::testing {

/// Returns the text that `function` returns in a child process without privileges, even if the tests run as root.
inline std::string run_unprivileged(const std::function<std::string()>& function) {
  constexpr unsigned kNobody = 65534;
  std::array<int, 2> ends = {};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    std::string text = "the privileges could not be given up";
    const bool is_root = ::geteuid() == 0;
    if (!is_root || (::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0)) {
      try {
        text = function();
      } catch (const std::exception& error) {
        text = std::string("unexpected exception: ") + error.what();
      }
    }
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer = {};
  for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("the child failed after: " + text);
  return text;
}

}  // namespace levin::testing
