#include <levin/trainer/runs/run_server.h>
#include <httplib.h>
#include <levin/trainer/checkpoint/run_lock.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/core/system/json_text.h>
#include <levin/trainer/runs/recorded_run.h>
#include <levin/trainer/runs/report.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace levin::runs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kCookie = "levin_token";

/// Describes the state of a run's files: if it is the same, so is the run.
std::string stamp_of(const fs::path& folder) {
  std::string stamp;
  for (const char* file : {"metrics.jsonl", "metrics.csv", "summary.json", "config.json", "checkpoints"}) {
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(folder / file, error);
    if (error) continue;
    stamp += std::to_string(time.time_since_epoch().count()) + "-";
    if (const uintmax_t bytes = fs::file_size(folder / file, error); !error) stamp += std::to_string(bytes) + "-";
  }
  return stamp + (RunLock::holder(folder) ? "r" : "e");
}

/// The runs that were read, again only if their files have changed.
class Cache {
 public:
  struct Entry {
    std::string stamp = {};
    std::shared_ptr<const RecordedRun> run = {};
  };

  explicit Cache(fs::path root) : root_(std::move(root)) {}

  /// Returns all runs by their paths below the root.
  std::vector<std::pair<std::string, Entry>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, Entry>> found;
    std::map<std::string, Entry> kept;
    for (const fs::path& folder : find_run_folders(root_)) {
      if (!is_inside(folder)) continue;
      const std::string name = name_of(folder);
      if (const std::optional<Entry> entry = read(folder, name)) {
        kept[name] = *entry;
        found.emplace_back(name, *entry);
      }
    }
    known_ = std::move(kept);
    return found;
  }

  /// Returns the run of that path, which must be one that `all` gives; nullopt otherwise.
  std::optional<Entry> at(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      if (known_.contains(name)) {
        const std::optional<Entry> entry = read(name == "." ? root_ : root_ / name, name);
        if (entry) known_[name] = *entry;
        return entry;
      }
    }
    for (auto& [known, entry] : all())
      if (known == name) return entry;
    return {};
  }

 private:
  /// A link may lead out of the root.
  bool is_inside(const fs::path& folder) const {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error), root = fs::canonical(root_, error);
    return !error && std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
  }

  std::string name_of(const fs::path& folder) const { return folder.lexically_relative(root_).generic_string(); }

  std::optional<Entry> read(const fs::path& folder, const std::string& name) {
    const std::string stamp = stamp_of(folder);
    const auto found = known_.find(name);
    if (found != known_.end() && found->second.stamp == stamp) return found->second;
    try {
      return Entry{stamp, std::make_shared<const RecordedRun>(read_run(folder))};
    } catch (const UsageError&) {
      return {};  // removed meanwhile
    }
  }

  fs::path root_;
  std::mutex mutex_;
  std::map<std::string, Entry> known_ = {};
};

Json json_of(const std::string& name, const RecordedRun& run) {
  const auto age = std::chrono::duration<double>(fs::file_time_type::clock::now() - run.changed).count();
  return {{"path", name},
          {"status", run.status},
          {"epoch", run.epoch},
          {"step", run.step},
          {"seconds", run.seconds},
          {"age_seconds", age},
          {"best", best_json(run.best())},
          {"problems", run.problems}};
}

/// Compares in a time that does not tell how much is right.
bool is_same(const std::string& given, const std::string& secret) {
  unsigned char difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i)
    difference |= static_cast<unsigned char>(secret[i] ^ (i < given.size() ? given[i] : 0));
  return difference == 0;
}

std::string cookie_of(const httplib::Request& request) {
  const std::string all = "; " + request.get_header_value("Cookie"), begin = std::string("; ") + kCookie + "=";
  const size_t at = all.find(begin);
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return all.substr(from, all.find(';', from) - from);
}

class Server {
 public:
  explicit Server(const RunServerOptions& options) : options_(options), cache_(options.root) {
    server_.set_default_headers(
        {{"Cache-Control", "no-store"},
         {"Content-Security-Policy",
          "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
          "img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
         {"Referrer-Policy", "no-referrer"},
         {"X-Content-Type-Options", "nosniff"}});
    // The default, SO_REUSEPORT, would let a second server take a part of the requests.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server_.set_keep_alive_timeout(1);  // seconds that an idle connection may hold up the end
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return admits(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                       : httplib::Server::HandlerResponse::Handled;
    });
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(served_list_page(), kHtml);
    });
    server_.Get("/api/runs", [this](const httplib::Request&, httplib::Response& response) { list(response); });
    server_.Get("/api/run", [this](const httplib::Request& request, httplib::Response& response) {
      with_run(request, response, [&](const Cache::Entry& entry) {
        const std::string tag = "\"" + entry.stamp + "\"";
        response.set_header("ETag", tag);
        if (request.get_header_value("If-None-Match") == tag)
          response.status = 304;
        else
          response.set_content(report_json({*entry.run}), kJson);
      });
    });
    server_.Get("/run", [this](const httplib::Request& request, httplib::Response& response) {
      with_run(request, response, [&](const Cache::Entry& entry) {
        std::string page = report_html({*entry.run});
        const size_t end = page.rfind("</body>");
        page.insert(end, std::string("<script>\n") + live_script() + "</script>\n");
        response.set_content(page, kHtml);
      });
    });
  }

  void run(const std::function<void(const std::string&)>& ready, const std::function<bool()>& ends) {
    int port = static_cast<int>(options_.port);
    if (port == 0)
      port = server_.bind_to_any_port(options_.host);
    else if (!server_.bind_to_port(options_.host, port))
      port = -1;
    if (port < 0)
      throw UsageError("levin serve: cannot listen on ", options_.host, ", port ", options_.port,
                       "; is it in use? Choose another with --port, or another address with --host");
    // Until it listens, the server takes no notice of being stopped, so it is told again.
    const std::jthread watcher([&](const std::stop_token& has_ended) {
      while (!has_ended.stop_requested()) {
        if (ends()) server_.stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    });
    const std::string host = options_.host.find(':') == std::string::npos ? options_.host : "[" + options_.host + "]";
    ready("http://" + host + ":" + std::to_string(port) + "/" +
          (options_.token.empty() ? "" : "?token=" + options_.token));
    server_.listen_after_bind();
  }

 private:
  /// Returns whether a request is answered; else `response` says why not.
  bool admits(const httplib::Request& request, httplib::Response& response) const {
    const auto refuse = [&](int status, const char* why) {
      response.status = status;
      response.set_content(std::string(why) + "\n", "text/plain; charset=utf-8");
      return false;
    };
    if (!is_own_name(request.get_header_value("Host"), options_))
      return refuse(403, "This server has another name; start levin serve with --allow-host NAME to use this one.");
    if (request.method != "GET" && request.method != "HEAD") return refuse(405, "Only GET is answered.");
    if (options_.token.empty()) return true;
    if (request.has_param("token") && is_same(request.get_param_value("token"), options_.token)) {
      response.set_header("Set-Cookie",
                          std::string(kCookie) + "=" + options_.token + "; HttpOnly; SameSite=Strict; Path=/");
      return true;
    }
    if (is_same(cookie_of(request), options_.token) ||
        is_same(request.get_header_value("Authorization"), "Bearer " + options_.token))
      return true;
    return refuse(401, "A token is missing: open the address that levin serve has printed.");
  }

  void list(httplib::Response& response) {
    Json all = Json::array();
    for (const auto& [name, entry] : cache_.all()) all.push_back(json_of(name, *entry.run));
    response.set_content(json_text({{"runs", std::move(all)}}), kJson);
  }

  template <class Answer>
  void with_run(const httplib::Request& request, httplib::Response& response, const Answer& answer) {
    const std::optional<Cache::Entry> entry = cache_.at(request.get_param_value("path"));
    if (entry) return answer(*entry);
    response.status = 404;
    response.set_content("There is no such run.\n", "text/plain; charset=utf-8");
  }

  RunServerOptions options_;
  Cache cache_;
  httplib::Server server_ = {};
};

}  // namespace

void serve_runs(const RunServerOptions& options, const std::function<void(const std::string&)>& ready,
                const std::function<bool()>& ends) {
  Server(options).run(ready, ends);
}

}  // namespace levin::runs
