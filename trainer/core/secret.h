#pragma once
#include <levin/trainer/core/stream_socket.h>

#include <string>

namespace levin {

/// A new secret: 64 hexadecimal digits.
std::string make_secret();

/// Both ends of a connection prove to each other that they know the secret, without sending it: each answers the
/// other's random challenge by its HMAC-SHA256. `admit` is for the end that was connected to, `prove` for the one that
/// has connected. False where the other end does not know the secret, or does not answer in seconds.
bool admit(const StreamSocket& socket, const std::string& secret);
bool prove(const StreamSocket& socket, const std::string& secret);
/// Whether the other end, to which this one has connected, asks for a secret.
bool asks_for_secret(const StreamSocket& socket);

}  // namespace levin
