#include <levin/core/system/url_credentials.h>
#include <levin/core/system/error.h>

#include "tests/catch.h"

using levin::is_credential;
using levin::left_out_credential;
using levin::without_credentials;

TEST_CASE("credentials in the queries of URLs are replaced, and all else stays") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"https://h/a.csv?X-Amz-Signature=1f&part=2", "https://h/a.csv?X-Amz-Signature=REDACTED&part=2"},
      {"HTTP://h/a?sv=1&SIG=a%2Bb=&se=2", "HTTP://h/a?sv=1&SIG=REDACTED&se=2"},
      {"https://h/a?access_token=x#part", "https://h/a?access_token=REDACTED#part"},
      {"https://h/a?apikey=1;token=2", "https://h/a?apikey=REDACTED;token=REDACTED"},
      {"\"https://h/a?token=1\", \"http://i/b?token=2\"",
       "\"https://h/a?token=REDACTED\", \"http://i/b?token=REDACTED\""},
      {"no https://h/a?token and ?token=1", "no https://h/a?token and ?token=1"},
      {"s3://bucket/a?token=1", "s3://bucket/a?token=1"},
      {"https://h/a?design=1&page=token", "https://h/a?design=1&page=token"},
      {"https://h/a?next=https://i/?token=1", "https://h/a?next=https://i/?token=REDACTED"},
      {"https://h/a?token=", "https://h/a?token="},
      {"://", "://"},
      {"", ""}};
  for (const auto& [text, expected] : cases) {
    CHECK(without_credentials(text) == expected);
    CHECK(without_credentials(expected) == expected);
  }
}

TEST_CASE("a URL whose credential was left out is recognised") {
  CHECK(left_out_credential("https://h/a?part=1&sig=REDACTED") == "sig");
  CHECK(left_out_credential("https://h/a?X-Amz-Date=REDACTED&X-Amz-Signature=REDACTED") == "X-Amz-Date");
  CHECK(left_out_credential("https://h/a?sig=1f").empty());
  CHECK(left_out_credential("https://h/a?word=REDACTED").empty());
  CHECK(left_out_credential("https://h/REDACTED").empty());
}

TEST_CASE("the text of an exception holds no credentials of URLs") {
  const levin::UsageError error("no file https://h/a?token=1f and that is all");
  CHECK(levin::message_of(error) == "no file https://h/a?token=REDACTED and that is all");
}
