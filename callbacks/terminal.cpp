#include <levin/callbacks/terminal.h>
#include <levin/callbacks/utf8_locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace levin::progress {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

Terminal::Terminal() {
  const std::string_view terminal = environment("TERM");
  interactive_ = ::isatty(STDERR_FILENO) && !terminal.empty() && terminal != "dumb";
  style_.unicode = interactive_ && locale_is_utf8();
  style_.colour = interactive_ && environment("NO_COLOR").empty();
}

Terminal::Terminal(std::ostream& stream, int64_t columns) : stream_(&stream), interactive_(columns > 0) {
  style_.columns = columns;
}

Style Terminal::style() const {
  Style style = style_;
  winsize size = {};
  if (!stream_ && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.columns = size.ws_col;
  return style;
}

void Terminal::write(const std::string& text) const {
  if (stream_) {
    *stream_ << text << std::flush;
    return;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace levin::progress
