"""What holds for each end of a program, whatever failed."""

import os
import re
import zipfile

# A reader can do nothing with these.
_BAD_TEXTS = (
    r"terminate called", r"\bframe #\d", r"Segmentation|SIGSEGV|SIGABRT|Sanitizer|core dumped", r"std::bad_alloc", r"filesystem error",
    r"basic_ios|iostream error|basic_filebuf", r"errno \d", r"std::exception|St\d+\w+error",
    r"(?m)^(levin: )?(error: )?(Input/output error|No space left on device|Interrupted system call|Resource temporarily unavailable|"
    r"Cannot allocate memory|Too many open files|Permission denied)\.?$",
)
_SIGNALS = {"SIGHUP": 1, "SIGINT": 2, "SIGKILL": 9, "SIGTERM": 15, "SIGUSR1": 10}


def faults_of_text(text):
    return [f"it says {found.group(0)!r}" for bad in _BAD_TEXTS if (found := re.search(bad, text))]


def faults_of_end(code, text, how):
    """What is wrong with the code, and with what was said about it."""
    found = faults_of_text(text)
    number = _SIGNALS.get(how, 0)
    if code == 0 or (number and code in (-number, 128 + number)):
        return found
    if code < 0:
        found.append(f"it was ended by signal {-code}")
    elif code > 2 and not (how in ("SIGKILL", "SIGSTOP") and code in (128 + 9, 128 + 15)):
        found.append(f"the exit code is {code}")
    if how in ("EINTR", "short"):
        found.append(f"{how} must change nothing, and it ended with {code}")
    if not re.search(r"error|levin: rank", text):
        found.append(f"it ended with {code} and says no error")
    return found


def damaged_files(folder):
    """Files under their final name that cannot be read. Each record of these archives has a checksum."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".ckpt", ".pt", ".part") or path.name.startswith("."):
            continue
        try:
            with zipfile.ZipFile(path) as archive:
                bad = archive.testzip()
        except (OSError, zipfile.BadZipFile) as error:
            bad = str(error)
        if bad:
            found.append(f"{path.relative_to(folder)} is damaged: {bad}")
    return found


def temporary_files(folder):
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.name.endswith(".tmp")]


def files_of(folder):
    """All files with their bytes, to see whether anything changes."""
    return {os.path.relpath(os.path.join(root, name), folder): open(os.path.join(root, name), "rb").read()
            for root, _, names in os.walk(folder) for name in names}
