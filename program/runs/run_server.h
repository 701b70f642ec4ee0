#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace levin::runs {

struct RunServerOptions {
  std::filesystem::path root = {};              ///< runs in it and below are shown
  std::string host = "127.0.0.1";               ///< the address to listen on
  int64_t port = 0;                             ///< 0: a free one
  std::string token = {};                       ///< without it a request is refused; empty: none is asked for
  std::vector<std::string> allowed_hosts = {};  ///< names in the header Host, besides those of `host`
  bool can_ask = false;                         ///< who has the token may pause and stop runs; needs a token
};

/// Returns whether only this machine reaches the address: 127.0.0.1, ::1 or localhost.
bool is_local(const std::string& host);

/// Returns whether a header Host names the server: the address that it listens on or localhost, with or without a port,
/// or one of `allowed`; if it listens on all addresses, also each address in numbers and this machine's name. A page of
/// another name that a resolver sends here (DNS rebinding) does not.
bool is_own_name(const std::string& header, const RunServerOptions& options);

/// Serves pages of the runs below a folder, and nothing else of it: a list, and the report of one or several runs,
/// which follows them while they run. With `can_ask` a POST to /api/ask pauses a run, lets it continue, or stops it.
/// Calls `ready` with the address once it listens, and returns when `ends` does, which is asked ten times a second.
/// Returns false if a thread still reads a run a second later; the process should then end without waiting for it.
/// What it holds for clients is limited (HttpFront).
///
/// Throws levin::UsageError if the address cannot be listened on.
bool serve_runs(const RunServerOptions& options, const std::function<void(const std::string& address)>& ready,
                const std::function<bool()>& ends);

/// Returns the page of the list, and the script that is added to a report.
const char* served_list_page();
const char* live_script();

}  // namespace levin::runs
