#include <levin/data/tables/message.h>

#include <cstring>
#include <stdexcept>

namespace levin::data {

int64_t Message::take_number() {
  int64_t number = 0;
  if (bytes_.size() - taken_ < sizeof(number)) throw std::runtime_error("the process that read it gave half an answer");
  std::memcpy(&number, bytes_.data() + taken_, sizeof(number));
  taken_ += sizeof(number);
  return number;
}

std::string Message::take_text() {
  const int64_t size = take_number();
  if (size < 0 || static_cast<uint64_t>(size) > bytes_.size() - taken_)
    throw std::runtime_error("the process that read it gave half an answer");
  taken_ += static_cast<size_t>(size);
  return bytes_.substr(taken_ - static_cast<size_t>(size), static_cast<size_t>(size));
}

}  // namespace levin::data
