#pragma once
#include <levin/core/ranks/stream_socket.h>

#include <string>

namespace levin {

/// Returns a new random secret: 64 hexadecimal digits.
std::string make_secret();

/// Mutual proof that both ends of a connection know the secret, without sending it: each end answers the other's random
/// challenge with its HMAC-SHA256. The accepting end calls `admit`, the connecting end calls `prove`. Returns false if
/// the other end does not know the secret or does not answer within seconds.
bool admit(const StreamSocket& socket, const std::string& secret);
bool prove(const StreamSocket& socket, const std::string& secret);
/// Returns whether the accepting end of this connection asks for a secret.
bool asks_for_secret(const StreamSocket& socket);

}  // namespace levin
