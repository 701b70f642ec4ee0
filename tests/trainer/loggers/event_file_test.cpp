#include <levin/trainer/loggers/event_file.h>

#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using levin::WireMessage;

TEST_CASE("checksums are those of RFC 3720") {
  CHECK(levin::crc32c("") == 0);
  CHECK(levin::crc32c("123456789") == 0xe3069283u);
  CHECK(levin::crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(levin::crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
}

TEST_CASE("messages are protobuf's wire format") {
  CHECK(WireMessage().add(1, int64_t{150}).bytes() == "\x08\x96\x01");
  CHECK(WireMessage().add(2, "testing").bytes() == "\x12\x07testing");
  CHECK(WireMessage().add(3, WireMessage().add(1, int64_t{150})).bytes() == "\x1a\x03\x08\x96\x01");
  CHECK(WireMessage().add(1, int64_t{-1}).bytes() == "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  CHECK(WireMessage().add(1, 1.0).bytes() == std::string("\x09\0\0\0\0\0\0\xf0\x3f", 9));
  CHECK(WireMessage().add_float(2, 1.0f).bytes() == std::string("\x15\0\0\x80\x3f", 5));
}

TEST_CASE("an event file starts with its version, and each has its own name") {
  const TemporaryFolder folder;
  const levin::EventFile first(folder.path()), second(folder.path());
  CHECK(first.path() != second.path());
  std::ostringstream text;
  text << std::ifstream(first.path(), std::ios::binary).rdbuf();
  CHECK(text.str().find("brain.Event:2") != std::string::npos);
  CHECK(text.str().size() == size_t{8 + 4 + 4} + static_cast<unsigned char>(text.str()[0]));
}
