#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/download/curl_transfer.h>
#include <levin/data/download/url_host.h>
#include <levin/data/files/archive_reader.h>
#include <levin/data/files/decompress.h>
#include <levin/data/files/image_codecs.h>
#include <levin/data/files/missing_library.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/tokenizer.h>
#include <levin/trainer/loggers/http.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

namespace levin::console {
/// The program has the sources of data alone, and nothing here warns.
void warn(const std::string& message) { FAIL("a warning: " << message); }
}  // namespace levin::console

namespace levin::data {
namespace {

TEST_CASE("Without libjpeg and libpng, an image names the library that is missing and what to do") {
  CHECK(
      error_text<MissingLibrary>([] { decode_jpeg("", "a.jpg", {}); }) ==
      "a.jpg: this levin is built without libjpeg (LEVIN_JPEG=OFF) and has no JPEG files; use PNG, or build levin with "
      "libjpeg-dev");
  CHECK(error_text<MissingLibrary>([] {
          encode_jpeg({}, 90);
        }).find("write_jpeg: this levin is built without libjpeg") == 0);
  CHECK(error_text<MissingLibrary>([] { decode_png("", "a.png", {}); }) ==
        "a.png: this levin is built without libpng (LEVIN_PNG=OFF) and has no PNG files; use JPEG, or build levin with "
        "libpng-dev");
  CHECK(error_text<MissingLibrary>([] { encode_png({}); }).find("write_png: this levin is built without libpng") == 0);
}

TEST_CASE("Without libtiff and libwebp, an image names the library that is missing and what to do") {
  CHECK(error_text<MissingLibrary>([] { decode_tiff("", "a.tif", {}); }) ==
        "a.tif: this levin is built without libtiff (LEVIN_TIFF=OFF) and reads no TIFF files; use PNG, or build levin "
        "with libtiff-dev");
  CHECK(error_text<MissingLibrary>([] { decode_webp("", "a.webp", {}); }) ==
        "a.webp: this levin is built without libwebp (LEVIN_WEBP=OFF) and reads no WebP files; use PNG, or build levin "
        "with libwebp-dev");
}

TEST_CASE("Without libarchive, an archive names the library that is missing and what to do") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.tar";
  std::ofstream(path) << "bytes";
  CHECK(error_text<MissingLibrary>([&] { ArchiveReader(map_file(path), ArchiveReader::Format::Tar); }) ==
        path.string() +
            ": this levin is built without libarchive (LEVIN_ARCHIVE=OFF) and reads no tar files; unpack the "
            "file, or build levin with libarchive-dev");
  CHECK(error_text<MissingLibrary>([] { decompress(FileBytes{.name = "a.jsonl.gz"}); }) ==
        "a.jsonl.gz: this levin is built without libarchive (LEVIN_ARCHIVE=OFF) and reads no compressed files; unpack "
        "the file, or build levin with libarchive-dev");
}

TEST_CASE("Without PCRE2 and ICU, a tokenizer names the libraries that are missing and what to do") {
  CHECK(error_text<UsageError>([] { Tokenizer::from_file("tokenizer.json"); }) ==
        "tokenizer.json: this levin is built without PCRE2 and ICU (LEVIN_TOKENIZERS=OFF) and reads no tokenizers; "
        "build levin with libpcre2-dev and libicu-dev");
}

TEST_CASE("Without libcurl, a file of a server names the library that is missing, and a file URL is read") {
  CHECK(error_text<UsageError>([] { local_path("s3://bucket/a.npy"); }) ==
        "this levin is built without libcurl (LEVIN_CURL=OFF) and reads no files of servers; give a local file, or "
        "build levin with libcurl4-openssl-dev");
  CHECK(local_path("file:///data/a%20b.npy") == "/data/a b.npy");
}

TEST_CASE("Without libcurl, a download ends at once with the reason, and loggers to servers are refused") {
  const TemporaryFolder folder;
  PartFile part(folder.path() / "file");
  const TransferEnd end = fetch_rest("https://example.org/file", part, {}, 1);
  CHECK(!end.done);
  CHECK(!end.may_retry);
  CHECK(end.unreachable);
  CHECK(end.reason == "this levin is built without libcurl (LEVIN_CURL=OFF)");
  const std::string refused = error_text<UsageError>([] { check_http_url("WebhookLogger.url", "http://127.0.0.1/"); });
  CHECK(refused.find("WebhookLogger.url: this levin is built without libcurl") == 0);
  CHECK(refused.find("CSVLogger") != std::string::npos);
}

TEST_CASE("Without libcurl, the host of a URL is still known") {
  CHECK(host_of("https://example.org/a?b") == "example.org");
  CHECK(host_of("http://name:word@example.org:8080/a@b") == "example.org");
  CHECK(host_of("http://[::1]:80/") == "[::1]");
  CHECK(host_of("no URL") == "no URL");
  CHECK(host_of("http://") == "http://");
}

}  // namespace
}  // namespace levin::data
