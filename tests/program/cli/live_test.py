"""Runs seen live and asked from outside: the views of `levin watch` and `levin fit --tui` in tmux, pauses and stops of real fits.

Usage: python live_test.py LEVIN. The parts that need a terminal are left out, and the test exits 77 (skipped) after the others, if
there is no tmux.
"""
import fcntl, json, os, pathlib, re, shlex, shutil, signal, subprocess, sys, tempfile, time

LEVIN = os.path.abspath(sys.argv[1])
os.environ.pop("NO_COLOR", None)
FIT = ["fit", "--seed", "5", "--model.class", "ImageClassifier", "--model.net", "mlp", "--model.optimizer.class", "AdamW",
       "--data.class", "SyntheticDigits", "--data.train-size", "512", "--data.val-size", "64", "--data.batch-size", "32",
       "--accelerator", "cpu", "--num-sanity-val-steps", "0", "--log-every-n-steps", "1"]
# More than a quick machine makes before it reads a request.
STEPS = 300
BRAILLE = re.compile("[\u2801-\u28ff]")


def wait_for(condition, what, seconds=90):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} does not come"
        time.sleep(0.05)
    return found


def words_of(folder, steps, *words):
    return [*FIT, "--max-steps", str(steps), "--default-root-dir", str(folder), "--name", "run", *words]


def start(folder, steps, *words):
    return subprocess.Popen([LEVIN, *words_of(folder, steps, "--enable-progress-bar", "false", *words)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def run_folder(folder):
    return folder / "run" / "version_0"


def rows_of(folder):
    """The rows of metrics.jsonl without the seconds, which no two runs share."""
    file = run_folder(folder) / "metrics.jsonl"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [{name: value for name, value in json.loads(line).items() if name != "wall_seconds"} for line in lines]


def wait_for_rows(folder, count):
    wait_for(lambda: len(rows_of(folder)) >= count, f"row {count}")


def ask(folder, word):
    (run_folder(folder) / "asks").write_text(word + "\n")
    (run_folder(folder) / "asks").rename(run_folder(folder) / "request")


def stands_still(folder):
    wait_for(lambda: (run_folder(folder) / "paused").exists(), "the pause")
    before = rows_of(folder)
    time.sleep(1)
    assert rows_of(folder) == before, "a paused run continues"
    return len(before)


def weights_of(folder):
    return (run_folder(folder) / "weights.pt").read_bytes()


def pauses_and_stops_change_nothing(folder):
    """A run that was paused, and one that was stopped in its pause and resumed, equal the unbroken run bit for bit."""
    for name, words in (("one", ["--accumulate-grad-batches", "3"]), ("two", ["--strategy", "ddp", "--devices", "2"])):
        whole, paused, stopped = folder / f"{name}_whole", folder / f"{name}_paused", folder / f"{name}_stopped"
        done = start(whole, STEPS, *words)
        assert done.wait() == 0, done.stdout.read()
        fit = start(paused, STEPS, *words, "--max-time", "600")
        wait_for_rows(paused, 2)
        ask(paused, "pause")
        assert stands_still(paused) < STEPS
        seconds = [json.loads(line)["wall_seconds"] for line in (run_folder(paused) / "metrics.jsonl").read_text().splitlines()]
        (run_folder(paused) / "request").unlink()
        said = fit.communicate(timeout=120)[0]
        assert fit.returncode == 0 and not (run_folder(paused) / "paused").exists(), said
        after = [json.loads(line)["wall_seconds"] for line in (run_folder(paused) / "metrics.jsonl").read_text().splitlines()]
        assert after[len(seconds)] - seconds[-1] < 1, "a pause counts for the run's clock"
        assert rows_of(paused) == rows_of(whole) and weights_of(paused) == weights_of(whole), name
        fit = start(stopped, STEPS, *words)
        wait_for_rows(stopped, 2)
        ask(stopped, "pause")
        assert stands_still(stopped) < STEPS - 1
        ask(stopped, "stop")
        said = fit.communicate(timeout=120)[0]
        assert fit.returncode == 128 + signal.SIGTERM and "on_signal.ckpt" in said, said
        assert not (run_folder(stopped) / "request").exists() and len(rows_of(stopped)) < STEPS
        ask(stopped, "pause")  # of nobody's: a resumed run does not follow what was asked of an earlier session
        fit = start(stopped, STEPS, *words, "--ckpt-path", str(run_folder(stopped)))
        said = fit.communicate(timeout=120)[0]
        assert fit.returncode == 0, said
        assert rows_of(stopped) == rows_of(whole) and weights_of(stopped) == weights_of(whole), name
    # What stands in the file and is no request is left alone; handle_signals false takes no stop.
    fit = start(folder / "other", STEPS, "--handle-signals", "false")
    wait_for_rows(folder / "other", 1)
    ask(folder / "other", "pause the run")
    wait_for_rows(folder / "other", 10)
    ask(folder / "other", "stop")
    assert fit.wait(120) == 0 and len(rows_of(folder / "other")) >= STEPS


class Terminal:
    """A terminal of tmux with a command in it, behind which `code N` is printed."""

    def __init__(self, folder, columns, lines, words, locale="C.UTF-8"):
        folder.mkdir(exist_ok=True)
        self.folder, self.socket = folder, folder / "socket"
        command = (f"stty -g > before; {shlex.join([LEVIN, *map(str, words)])}; echo code $?; stty -g > after; sleep 1000")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(folder),
                  f"LC_ALL={locale} sh -c {shlex.quote(command)}")

    def tmux(self, *words):
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        return subprocess.run(["tmux", "-u", "-S", str(self.socket), *words], check=True, capture_output=True, text=True, env=environment).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait_for(self, pattern, seconds=90):
        try:
            return wait_for(lambda: re.search(pattern, "\n".join(self.screen()), re.M), pattern, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n" + "\n".join(self.screen())) from None

    def pid(self):
        """The process of levin."""
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        is_levin = lambda pid: os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(LEVIN)
        return wait_for(lambda: list(filter(is_levin, children_of(shell))), "the process")[0]

    def ends(self, code):
        """Waits for the end, and checks that the terminal is as it was."""
        self.wait_for(f"^code {code}$")
        wait_for(lambda: (self.folder / "after").exists() and (self.folder / "after").read_text(), "stty")
        assert (self.folder / "after").read_text() == (self.folder / "before").read_text()
        assert self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
        return "\n".join(self.screen())

    def close(self):
        subprocess.run(["tmux", "-S", str(self.socket), "kill-server"], capture_output=True)


def write_run(folder, rows, slope):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"id": "0"}')
    (folder / "config.json").write_text(json.dumps({"trainer": {"max_epochs": 9}}))
    lines = [{"step": step, "epoch": step // 10, "wall_seconds": step / 7, "val_loss": slope / step, "a\x1b[31mb": step % 5} for step in range(1, rows + 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def fits_the_screen(folder):
    """The picture fits screens of all sizes, follows a change of the size, and its keys do what they say."""
    write_run(folder / "a", 300, 1)
    write_run(folder / "b", 200, 3)
    for columns, lines in ((40, 24), (80, 24), (200, 50), (20, 5)):
        terminal = Terminal(folder / f"terminal_{columns}", columns, lines, ["watch", folder / "a", folder / "b", "--stay"])
        try:
            terminal.wait_for("q leave")
            screen = terminal.screen()
            assert len(screen) == lines and max(map(len, screen)) <= columns, screen
            assert sum(line.startswith("q leave") for line in screen) == 1 and screen[-1].startswith("q leave p"[:7]), screen
            if columns >= 40:
                assert BRAILLE.search("\n".join(screen)) and screen[0].startswith("a ") and screen[1].startswith("b "), screen
                widest = max(len(line.rstrip("\u2800 ")) for line in screen[:-1])
                assert widest == columns, "the curves use the whole width"
            terminal.press("q")
            terminal.ends(1)
        finally:
            terminal.close()
    terminal = Terminal(folder / "keys", 80, 24, ["watch", folder / "a", folder / "b", "--stay"], locale="C")
    try:
        terminal.wait_for("q leave")
        screen = "\n".join(terminal.screen())
        assert screen.isascii() and re.search(r"^ +3 .*b", screen, re.M) and "a?[31mb" in screen, screen
        for key, pattern in (("Enter", r"^ +1 +300$"), ("l", "val_loss .* log$"), ("s", "smoothing 0.500"), ("S", "log$"), ("+", "zoom 2.000"),
                             ("Left", r"^ +113.125 +262.625"), ("0", r"^ +1 +300$"), ("x", "42.85714 s$"), ("Down", r"^a\?\[31mb"), ("Up", "^val_loss"),
                             ("2", "b  hidden"), ("2", r"^b \S+  killed"), ("p", "no run that is shown runs"), ("k", "stop the run. y/n"), ("y", "no run that is")):  # fmt: skip
            terminal.press(key)
            terminal.wait_for(f"{pattern}", 20)
        for columns, lines in ((40, 10), (200, 40)):
            terminal.resize(columns, lines)
            wait_for(lambda: len(terminal.screen()) == lines and len(terminal.screen()[1]) <= columns and
                     (columns < 100 or max(map(len, terminal.screen())) > 100), "the new size")
        terminal.press("q")
        terminal.ends(1)
    finally:
        terminal.close()


def restores_the_terminal(folder):
    """Whatever ends the view, the terminal is as it was before."""
    write_run(folder / "a", 30, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
        terminal = Terminal(folder / f"signal_{number}", 80, 24, ["watch", folder / "a", "--stay"])
        try:
            terminal.wait_for("q leave")
            os.kill(terminal.pid(), number)
            terminal.ends(128 + number)
        finally:
            terminal.close()
    # A folder that goes away is an error: an exception.
    lock = (folder / "a" / ".lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    terminal = Terminal(folder / "exception", 80, 24, ["watch", folder / "a", "--every", "1"])
    try:
        terminal.wait_for("running")
        shutil.rmtree(folder / "a")
        assert "there is no such folder" in terminal.ends(2)
    finally:
        terminal.close()


def watch_controls_a_run(folder):
    fit = start(folder, 100000)
    wait_for_rows(folder, 3)
    terminal = Terminal(folder / "terminal", 120, 30, ["watch", run_folder(folder), "--every", "1"])
    try:
        terminal.wait_for("running")
        terminal.press("p")
        terminal.wait_for("^paused  ")
        stands_still(folder)
        count = len(rows_of(folder))
        terminal.press("p")
        wait_for_rows(folder, count + 5)
        terminal.press("k")
        terminal.wait_for("save and stop the run")
        terminal.press("n")
        terminal.wait_for("q leave")
        assert fit.poll() is None
        terminal.press("k", "y")
        said = fit.communicate(timeout=120)[0]
        assert fit.returncode == 128 + signal.SIGTERM and "saved" in said, said
        assert "stopped" in terminal.ends(0)
    finally:
        terminal.close()
        fit.kill()


def fit_shows_itself(folder):
    for name, words, steps in (("done", [], 40), ("stopped", ["--strategy", "ddp", "--devices", "2"], 100000)):
        terminal = Terminal(folder / f"terminal_{name}", 100, 30, words_of(folder / name, steps, "--tui", *words))
        try:
            if name == "stopped":
                terminal.wait_for(r"^running .*step \d")
                terminal.wait_for(BRAILLE.pattern)
                terminal.wait_for(r"^Epoch \d.*it/s")  # what the run prints
                terminal.press("p")
                terminal.wait_for("^paused  ")
                stands_still(folder / name)
                terminal.press("q")
                terminal.wait_for("save and stop the run")
                terminal.press("y")
            screen = terminal.ends(128 + signal.SIGTERM if name == "stopped" else 0)
            assert "run folder" in screen and (name == "done" or "stopped by SIGTERM" in screen), screen
            assert "run folder" in (run_folder(folder / name) / "output.log").read_text()
        finally:
            terminal.close()
    for name, number in (("killed", signal.SIGKILL), ("interrupted", signal.SIGINT)):
        terminal = Terminal(folder / f"terminal_{name}", 80, 24, words_of(folder / name, 100000, "--tui"))
        try:
            terminal.wait_for(r"^running .*step \d")
            view = terminal.pid()
            (fit,) = children_of(view)
            os.kill(fit if name == "killed" else view, number)
            terminal.ends(128 + number)
            wait_for(lambda: not pathlib.Path(f"/proc/{fit}").exists(), "the end of the fit")
        finally:
            terminal.close()
    # Without a terminal, and for what a fit refuses, it is a fit as any other.
    done = subprocess.run([LEVIN, *words_of(folder / "plain", 2, "--tui")], capture_output=True, text=True)
    assert done.returncode == 0 and "fit completed" in done.stdout + done.stderr and "\x1b" not in done.stdout, done
    assert subprocess.run([LEVIN, *words_of(folder / "no", 2, "--tui", "--dry-run")], capture_output=True).returncode == 2


def main():
    parts = [pauses_and_stops_change_nothing]
    has_terminals = shutil.which("tmux") is not None
    if has_terminals:
        parts += [fits_the_screen, restores_the_terminal, watch_controls_a_run, fit_shows_itself]
    for part in parts:
        if len(sys.argv) > 2 and part.__name__ not in sys.argv[2:]:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            part(pathlib.Path(name).resolve())
        print(f"{part.__name__} holds, {time.monotonic() - begin:.0f} s", flush=True)
    if not has_terminals:
        print("skipped the views: there is no tmux; scripts/setup --tests installs it")
        sys.exit(77)


if __name__ == "__main__":
    main()
