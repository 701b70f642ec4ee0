#pragma once
#include <string>
#include <string_view>

namespace levin {

/// What stands in the place of a credential that was left out.
inline constexpr std::string_view kLeftOutCredential = "REDACTED";

/// Returns whether a parameter of a URL's query is a credential, by its name: it begins with X-Amz- or X-Goog-, or ends
/// with sig, signature, token, key, keyid, accessid, key-pair-id, secret, password, credential, auth, jwt or policy, in
/// any case.
bool is_credential(std::string_view parameter);

/// Returns a text in which each credential in the query of a URL of http or https is replaced: "https://host/a?sig=1f"
/// becomes "https://host/a?sig=REDACTED". For what is saved, logged and printed. A JSON text stays one.
std::string without_credentials(std::string text);

/// Returns the name of the first credential of a URL that was left out; empty if there is none.
std::string left_out_credential(std::string_view url);

}  // namespace levin
