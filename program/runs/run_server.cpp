#include <levin/program/runs/run_server.h>
#include <levin/core/system/json_text.h>
#include <levin/program/runs/http_front.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/report.h>
#include <levin/program/runs/run_cache.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace levin::runs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kCookie = "levin_token";
constexpr std::array kPaths = {"/", "/api/runs", "/api/run", "/run"};
/// Where runs are asked. The header makes browsers ask this server before they send it for another site's page, and
/// the server refuses.
constexpr const char *kAskPath = "/api/ask", *kAskHeader = "x-levin-ask";
constexpr size_t kMostRunsOfPage = 50;

Json json_of(const std::string& name, const RecordedRun& run) {
  const auto age = std::chrono::duration<double>(fs::file_time_type::clock::now() - run.changed).count();
  return {{"path", name},
          {"status", run.shown_status()},
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

/// Returns whether a request comes from no page of another origin.
bool is_of_this_origin(const HttpRequest& request) {
  const std::string origin = request.header("origin");
  return origin.empty() || origin == "http://" + request.header("host") ||
         origin == "https://" + request.header("host");
}

/// Returns the names of runs in a request: path, path1, path2, ...
std::vector<std::string> names_in(const HttpRequest& request) {
  std::vector<std::string> names = {request.parameter("path")};
  while (names.size() < kMostRunsOfPage) {
    const std::string name = request.parameter("path" + std::to_string(names.size()));
    if (name.empty()) break;
    names.push_back(name);
  }
  return names;
}

std::shared_ptr<const std::string> shared_text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

/// Says who may read, and answers what needs no runs.
class Gate {
 public:
  explicit Gate(RunServerOptions options) : options_(std::move(options)) {}

  /// Returns nullopt if an answer is to be made.
  std::optional<HttpAnswer> admit(const HttpRequest& request) const {
    if (!is_own_name(request.header("host"), options_))
      return HttpAnswer::text(
          403, "This server has another name; start levin serve with --allow-host NAME to use this one.");
    const bool asks = options_.can_ask && request.path == kAskPath;
    if (asks ? request.method != "POST" : request.method != "GET" && request.method != "HEAD")
      return with(HttpAnswer::text(405, asks ? "Only POST is answered." : "Only GET is answered."), "Allow",
                  asks ? "POST" : "GET, HEAD");
    if (!has_token(request))
      return with(HttpAnswer::text(401, "A token is missing: open the address that levin serve has printed."),
                  "WWW-Authenticate", "Bearer");
    if (request.has_body) return HttpAnswer::text(413, "A request with a body is not answered.");
    if (asks && (!is_of_this_origin(request) || request.header(kAskHeader).empty()))
      return HttpAnswer::text(403, "A run is asked by this server's own pages, with the header X-Levin-Ask.");
    if (asks) return {};
    if (std::ranges::find(kPaths, request.path) == kPaths.end()) return HttpAnswer::text(404, "There is no such page.");
    if (request.path != "/") return {};
    return greeted({.type = kHtml, .body = page_}, request);
  }

  /// Returns the answer, which gives the token to the browser if it stands in the address.
  HttpAnswer greeted(HttpAnswer answer, const HttpRequest& request) const {
    if (options_.token.empty() || !is_same(request.parameter("token"), options_.token)) return answer;
    return with(std::move(answer), "Set-Cookie",
                std::string(kCookie) + "=" + options_.token + "; HttpOnly; SameSite=Strict; Path=/");
  }

 private:
  static HttpAnswer with(HttpAnswer answer, const char* name, const std::string& value) {
    answer.headers.emplace_back(name, value);
    return answer;
  }

  bool has_token(const HttpRequest& request) const {
    return options_.token.empty() || is_same(request.parameter("token"), options_.token) ||
           is_same(request.cookie(kCookie), options_.token) ||
           is_same(request.header("authorization"), "Bearer " + options_.token);
  }

  RunServerOptions options_;
  std::shared_ptr<const std::string> page_ = shared_text(served_list_page());
};

/// Makes the answers that need runs, one at a time.
class Pages {
 public:
  explicit Pages(const RunServerOptions& options) : cache_(options.root), can_ask_(options.can_ask) {}

  HttpAnswer answer(const HttpRequest& request, const std::stop_token& stop) {
    if (request.path == "/api/runs") return {.type = kJson, .body = shared_text(list(stop))};
    const std::vector<std::string> names = names_in(request);
    std::vector<RecordedRun> found;
    std::string stamp, what;
    for (const std::string& name : names) {
      const std::optional<RunCache::Entry> entry = cache_.at(name, stop);
      if (!entry) return HttpAnswer::text(404, "There is no such run.");
      found.push_back(*entry->run);
      stamp += (stamp.empty() ? "" : "+") + entry->stamp;
      what += name + "\n";
    }
    if (request.path == kAskPath) return ask(found.front(), request.parameter("ask"));
    if (request.path == "/run")
      return {.type = kHtml, .body = shared("page of " + what, stamp, [&] { return page(found); })};
    const std::string tag = "\"" + stamp + "\"";
    HttpAnswer answer = {.type = kJson, .headers = {{"ETag", tag}}};
    if (request.header("if-none-match") == tag)
      answer.status = 304;
    else
      answer.body = shared("data of " + what, stamp, [&] { return report_json(found); });
    return answer;
  }

 private:
  std::string list(const std::stop_token& stop) {
    Json all = Json::array();
    for (const auto& [name, entry] : cache_.all(stop)) all.push_back(json_of(name, *entry.run));
    return json_text({{"runs", std::move(all)}});
  }

  /// Asks a run what "pause", "continue" and "stop" say.
  static HttpAnswer ask(const RecordedRun& run, const std::string& what) {
    const std::map<std::string, RunRequest> requests = {
        {"pause", RunRequest::Pause}, {"continue", RunRequest::None}, {"stop", RunRequest::Stop}};
    const auto request = requests.find(what);
    if (request == requests.end()) return HttpAnswer::text(400, "ask is pause, continue or stop.");
    if (run.status != "running") return HttpAnswer::text(409, "The run does not run.");
    ask_run(run.folder, request->second);
    return HttpAnswer::text(200, "The run is asked.");
  }

  std::string page(const std::vector<RecordedRun>& runs) const {
    std::string page = report_html(runs);
    page.insert(page.rfind("</body>"), std::string("<script>\nconst CAN_ASK = ") + (can_ask_ ? "true" : "false") +
                                           ";\n" + live_script() + "</script>\n");
    return page;
  }

  /// Returns the text that somebody is still being sent, if it is of the same stamp; else a new one.
  template <class Make>
  std::shared_ptr<const std::string> shared(const std::string& what, const std::string& stamp, const Make& make) {
    std::erase_if(sent_, [](const auto& one) { return one.second.second.expired(); });
    auto& [known_stamp, known_text] = sent_[what];
    if (known_stamp == stamp)
      if (std::shared_ptr<const std::string> text = known_text.lock()) return text;
    std::shared_ptr<const std::string> text = shared_text(make());
    known_stamp = stamp;
    known_text = text;
    return text;
  }

  RunCache cache_;
  bool can_ask_;
  std::map<std::string, std::pair<std::string, std::weak_ptr<const std::string>>> sent_ = {};
};

}  // namespace

bool serve_runs(const RunServerOptions& options, const std::function<void(const std::string&)>& ready,
                const std::function<bool()>& ends) {
  const HttpFront front(options.host, options.port);
  const std::string host = options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
  ready("http://" + host + ":" + std::to_string(front.port()) + "/" +
        (options.token.empty() ? "" : "?token=" + options.token));
  const auto gate = std::make_shared<const Gate>(options);
  const auto pages = std::make_shared<Pages>(options);
  return front.serve({.admit = [gate](const HttpRequest& request) { return gate->admit(request); },
                      .make =
                          [gate, pages](const HttpRequest& request, const std::stop_token& stop) {
                            return gate->greeted(pages->answer(request, stop), request);
                          }},
                     ends);
}

}  // namespace levin::runs
