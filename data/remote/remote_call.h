#pragma once
#include <levin/data/remote/aws_settings.h>
#include <levin/data/remote/http_call.h>
#include <levin/data/remote/remote_url.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace levin::data {

/// A request about an object of a bucket, or a file of a web server.
struct RemoteCall {
  std::string method = "GET";
  RemoteUrl url = {};
  std::map<std::string, std::string> query = {};         ///< of a bucket's server, not encoded
  std::map<std::string, std::string> headers = {};       ///< "x-amz-...", in small letters: signed
  std::map<std::string, std::string> more_headers = {};  ///< not signed
  std::string_view body = {};
  bool ends_on_signal = true;
  std::function<bool(const HttpReply& so_far, std::string_view bytes)> take = {};  ///< see HttpCall
};

/// Sends the call once, signed if there are keys.
HttpReply call_once(const RemoteCall& call);

/// Sends the call, again after each passing failure. The reply's status may be that of an error. Throws levin::Error if
/// there is no answer, and on a signal.
HttpReply call_remote(const RemoteCall& call);

/// Throws what the reply, which is not good, says about the URL: levin::UsageError for what the user can change (no
/// such object, no permission, another region), which names the keys by where they come from, or levin::Error.
[[noreturn]] void refuse_reply(const RemoteUrl& url, const HttpReply& reply);

/// Returns the text between <tag> and </tag>, with its entities decoded; empty if there is none.
std::string xml_text(std::string_view xml, const std::string& tag);

/// Returns the version that the headers name: the ETag without quotes, or else Last-Modified.
std::string version_of(const HttpReply& reply);

}  // namespace levin::data
