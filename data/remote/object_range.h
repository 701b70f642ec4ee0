#pragma once
#include <levin/data/remote/http_call.h>
#include <levin/data/remote/remote_object.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace levin::data {

/// Returns the number that all of the text is; nothing for another text or a negative one.
std::optional<int64_t> whole_number(std::string_view text);

/// Which bytes an answer holds.
struct AnswerRange {
  int64_t first = 0;  ///< -1: unknown
  int64_t all = -1;   ///< the size of the whole; -1: unknown
};

/// Returns what Content-Range or, of a whole answer, Content-Length says.
AnswerRange range_of(const HttpReply& reply);

/// What a read of a range may come to.
enum class RangeResult { Read, ServerHasNoRanges };

/// Reads as read_remote_object; if the server answers with the whole object instead of the range, nothing is read. The
/// headers of the last answer go to `reply` if it is not null.
RangeResult read_range(const RemoteObject& object, int64_t offset, int64_t size, char* into,
                       HttpReply* reply = nullptr);

}  // namespace levin::data
