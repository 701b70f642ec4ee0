#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_object.h>
#include <levin/data/remote/upload.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace levin;

int64_t number(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

void run(const std::vector<std::string>& words) {
  const std::string& what = words.at(0);
  const std::string& url = words.at(1);
  if (what == "find") {
    const RemoteObject object = find_remote_object(url);
    std::printf("%lld %s\n", static_cast<long long>(object.size), object.version.c_str());
  } else if (what == "list") {
    for (const RemoteObject& object : list_remote_objects(url))
      std::printf("%s %lld %s\n", object.url.c_str(), static_cast<long long>(object.size), object.version.c_str());
  } else if (what == "read") {  // URL OFFSET SIZE
    const RemoteObject object = find_remote_object(url);
    std::string bytes(static_cast<size_t>(number(words.at(3))), '\0');
    read_remote_object(object, number(words.at(2)), number(words.at(3)), bytes.data());
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  } else if (what == "fetch") {  // URL FILE
    fetch_remote_object(find_remote_object(url), words.at(2));
  } else if (what == "path") {
    std::printf("%s\n", local_path(url).c_str());
  } else if (what == "hold") {  // URL...; uses the files until the input ends
    for (size_t i = 1; i < words.size(); ++i) std::printf("%s\n", local_path(words[i]).c_str());
    std::fflush(stdout);
    std::getchar();
  } else if (what == "folder") {
    std::printf("%s\n", local_folder(url).c_str());
  } else if (what == "upload") {  // URL FILE
    upload_file(words.at(2), url);
  } else if (what == "remove") {
    remove_remote_object(url);
  }
}

}  // namespace

/// usage: remote_tool find|list|read|fetch|path|hold|folder|upload|remove URL [ARGUMENT...]; exits 2 for a UsageError,
/// 1 for another error.
int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (const levin::UsageError& error) {
    std::fprintf(stderr, "usage error: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
