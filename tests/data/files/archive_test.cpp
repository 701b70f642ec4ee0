#include <levin/data/files/archive.h>
#include <archive.h>
#include <archive_entry.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::data::unpack_archive;

namespace {

namespace fs = std::filesystem;

struct Member {
  std::string name;
  std::string content = {};
  std::string link = {};
  bool folder = false;
};

void pack(const fs::path& path, const std::vector<Member>& members, bool compressed = true) {
  archive* writer = archive_write_new();
  if (compressed) archive_write_add_filter_gzip(writer);
  archive_write_set_format_ustar(writer);
  REQUIRE(archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK);
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.folder ? AE_IFDIR : member.link.empty() ? AE_IFREG : AE_IFLNK);
    archive_entry_set_perm(entry, member.folder ? 0755 : 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    archive_write_header(writer, entry);
    archive_write_data(writer, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

/// Returns the names of all files under a folder.
std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), folder).string());
  }
  return names;
}

}  // namespace

TEST_CASE("an archive is unpacked, plain or gzip, with and without its first folder") {
  const TemporaryFolder folder;
  const std::string large(200000, 'x');
  for (const bool compressed : {true, false}) {
    const fs::path archive = folder / (compressed ? "a.tar.gz" : "a.tar");
    pack(archive, {{.name = "top", .folder = true}, {"top/one.txt", "1"}, {"./top/sub/two.bin", large}, {"three", ""}},
         compressed);
    unpack_archive(archive, folder / "all");
    CHECK(files_in(folder / "all") == std::set<std::string>{"three", "top/one.txt", "top/sub/two.bin"});
    CHECK(read_bytes(folder / "all/top/sub/two.bin") == large);
    unpack_archive(archive, folder / "inner", 1);
    CHECK(files_in(folder / "inner") == std::set<std::string>{"one.txt", "sub/two.bin"});
    CHECK(read_bytes(folder / "inner/one.txt") == "1");
    fs::remove_all(folder / "all");
  }
  // The second time "inner" already exists. No other names are left.
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 3);
}

TEST_CASE("names that lead out of the folder, and links, are refused; nothing is left") {
  const TemporaryFolder folder;
  const auto error_of = [&](const Member& member) {
    pack(folder / "bad.tar.gz", {{"good", "1"}, member});
    const std::string error =
        error_text<levin::UsageError>([&] { unpack_archive(folder / "bad.tar.gz", folder / "x"); });
    CHECK(files_in(folder.path()) == std::set<std::string>{"bad.tar.gz"});
    CHECK_FALSE(fs::exists(folder / "x"));
    return error;
  };
  const std::string archive = (folder / "bad.tar.gz").string();
  CHECK(error_of({"../out", "1"}) ==
        archive + ": the name ../out leads out of the folder; the archive is not unpacked");
  CHECK(error_of({"a/../../out", "1"}) ==
        archive + ": the name a/../../out leads out of the folder; the archive is not unpacked");
  CHECK(error_of({(folder / "out").string(), "1"}) ==
        archive + ": the name " + (folder / "out").string() + " leads out of the folder; the archive is not unpacked");
  CHECK(contains(error_of({.name = "link", .link = "/etc"}), "link"));
}

TEST_CASE("a broken archive is refused by name, and the files in the folder stay") {
  const TemporaryFolder folder;
  const fs::path archive = folder / "a.tar.gz";
  pack(archive, {{"one", std::string(100000, 'x')}, {"two", "2"}});
  unpack_archive(archive, folder / "out");
  fs::resize_file(archive, fs::file_size(archive) / 2);
  CHECK(error_text<levin::UsageError>([&] { unpack_archive(archive, folder / "out"); }).starts_with(archive.string()));
  CHECK(files_in(folder / "out") == std::set<std::string>{"one", "two"});
  std::ofstream(archive) << "this is no archive, but some text";
  CHECK(error_text<levin::UsageError>([&] { unpack_archive(archive, folder / "out"); }).starts_with(archive.string()));
  CHECK(error_text<levin::UsageError>([&] {
          unpack_archive(folder / "none", folder / "out");
        }).starts_with((folder / "none").string()));
  CHECK(files_in(folder / "out").size() == 2);
}

TEST_CASE("a file in the folder's place is refused") {
  const TemporaryFolder folder;
  pack(folder / "a.tar.gz", {{"a", "1"}, {"a/b", "2"}});
  CHECK(contains(error_text([&] { unpack_archive(folder / "a.tar.gz", folder / "out"); }), "cannot be written"));
  CHECK(files_in(folder.path()) == std::set<std::string>{"a.tar.gz"});
}
