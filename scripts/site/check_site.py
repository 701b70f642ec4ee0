"""Checks the built site: each link leads to a file of it and to an anchor there, and no page takes a script, a style, a font or a
picture from another host.

Usage: check_site.py SITE
"""

import html.parser
import pathlib
import sys
import urllib.parse

LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href"}


class Page(html.parser.HTMLParser):
    """`links` are what the page refers to, `loads` what it needs to be shown, `anchors` the places in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in LOADS and given.get(LOADS[tag]) and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given[LOADS[tag]])


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    found = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    problems, inside, outside = [], 0, 0
    for path, page in found.items():
        for link in [*page.links, *page.loads]:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                outside += 1
                if link in page.loads and address.scheme != "data":
                    problems.append(f"{path.relative_to(site)} loads {link} from another host")
                continue
            inside += 1
            target = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
            anchor = urllib.parse.unquote(address.fragment)
            if not target.is_file():
                problems.append(f"{path.relative_to(site)}: {link} leads to no file")
            elif anchor and target in found and anchor not in found[target].anchors:
                problems.append(f"{path.relative_to(site)}: {link} leads to no place of that page")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(found)} pages of the site, {inside} links inside, {outside} to other hosts, {len(problems)} dead")
    assert len(found) > 200 and inside > 1000, "the site has lost its pages, or this check no longer finds them"
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
