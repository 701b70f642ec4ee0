#include <levin/core/ranks/secret.h>
#include <levin/core/system/error.h>
#include <levin/core/system/hex_digits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/random.h>

#include <array>
#include <string_view>

namespace levin {
namespace {

constexpr size_t kNonce = 32, kProof = 32;
/// The first bytes from a gate, which distinguish it from other servers.
constexpr std::string_view kGreeting = "levin store 1\n";
constexpr std::chrono::seconds kSecondsToAnswer{5};
/// c10d's own stores send nothing before they are asked.
constexpr int kMillisecondsToGreet = 300;

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count))
    throw Error("the system has no random numbers for a secret");
  return bytes;
}

/// Each end signs a different text, so that neither can send back what it received.
std::string proof(std::string_view who, const std::string& challenge_bytes, const std::string& other_bytes,
                  const std::string& secret) {
  const std::string text = std::string(who) + challenge_bytes + other_bytes;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned length = 0;
  if (::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length) == nullptr)
    throw Error("OpenSSL cannot compute an HMAC");
  return {reinterpret_cast<const char*>(digest.data()), length};
}

bool is_same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string make_secret() { return hex_digits(random_bytes(kNonce)); }

bool admit(const StreamSocket& socket, const std::string& secret) {
  socket.set_timeout(kSecondsToAnswer);
  const std::string own = random_bytes(kNonce);
  if (!socket.send_all(std::string(kGreeting) + own)) return false;
  const std::string answered = socket.receive(kNonce + kProof);
  if (answered.size() != kNonce + kProof) return false;
  const std::string theirs = answered.substr(0, kNonce);
  if (!is_same(answered.substr(kNonce), proof("peer", own, theirs, secret))) return false;
  const bool sent = socket.send_all(proof("gate", theirs, own, secret));
  socket.set_timeout(std::chrono::seconds(0));
  return sent;
}

bool prove(const StreamSocket& socket, const std::string& secret) {
  socket.set_timeout(kSecondsToAnswer);
  const std::string greeting = socket.receive(kGreeting.size() + kNonce);
  if (greeting.size() != kGreeting.size() + kNonce || greeting.rfind(kGreeting, 0) != 0) return false;
  const std::string theirs = greeting.substr(kGreeting.size()), own = random_bytes(kNonce);
  if (!socket.send_all(own + proof("peer", theirs, own, secret))) return false;
  const bool known = is_same(socket.receive(kProof), proof("gate", own, theirs, secret));
  socket.set_timeout(std::chrono::seconds(0));
  return known;
}

bool asks_for_secret(const StreamSocket& socket) {
  pollfd waiting{socket.descriptor(), POLLIN, 0};
  return ::poll(&waiting, 1, kMillisecondsToGreet) > 0 && socket.receive(1) == kGreeting.substr(0, 1);
}

}  // namespace levin
