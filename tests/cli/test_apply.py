"""`fsrs-opt apply` and `fsrs-opt undo`, as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.apply.anki_collection import NEW, contents, differing, result_file, stored, unpacked_sample
from tests.cli.objects import strict
from tests.cli.program import Here, command, environment
from tests.cli.test_interrupts import wait_for


@pytest.fixture
def collection(data: Path, tmp_path: Path) -> Path:
    return unpacked_sample(data, tmp_path / "User 1" / "collection.anki2")


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return result_file(tmp_path)


def test_shows_the_change_writes_it_and_takes_it_back(fsrs_opt: Here, collection: Path, result: Path) -> None:
    before = contents(collection)
    done = fsrs_opt("apply", collection, "--preset", "languages", "--from", result, "--yes")
    assert (done.code, done.err) == (0, "")
    for text in (
        "Preset “Languages”",
        "3: Languages, Languages::Español, Languages::Ελληνικά",
        "302",
        "log loss lower by 0.0100 per review (95 %: 0.0040 to 0.0160)",
        "The test says change.",
        "fsrs-opt undo",
    ):
        assert text in done.out
    lines = [line.split() for line in done.out.splitlines()]
    assert ["w0", "0.9000", "0.4000"] in [line[:3] for line in lines]
    assert stored(collection, "Languages") == NEW

    listed = fsrs_opt("undo", collection, "--list")
    assert listed.code == 0
    assert "Languages" in listed.out
    undone = fsrs_opt("undo", collection)
    assert undone.code == 0
    assert "Restored" in undone.out
    assert differing(before, contents(collection)) == {}
    again = fsrs_opt("undo", collection)
    assert again.code == 1
    assert "nothing to undo" in again.err


def test_json(fsrs_opt: Here, collection: Path, result: Path) -> None:
    planned = strict(
        fsrs_opt("apply", collection, "--all-presets", "--from", result, "--dry-run", "--json").out
    )
    assert planned["format"] == "fsrs-opt.apply/1"
    assert not planned["written"]
    assert planned["backup"] is None
    assert len(planned["presets"]) == 3
    assert os.listdir(collection.parent) == ["collection.anki2"]

    written = strict(
        fsrs_opt("apply", collection, "--preset", "Default", "--from", result, "--yes", "--json").out
    )
    (preset,) = written["presets"]
    assert preset["written"]
    assert preset["old_parameters"] == []
    assert preset["new_parameters"] == pytest.approx(NEW)
    assert preset["verdict"] == {
        "decision": "change",
        "sentence": "The test says change.",
        "gain": 0.01,
        "low": 0.004,
        "high": 0.016,
        "held_out": True,
    }
    assert Path(written["backup"]).is_file()

    (backup,) = strict(fsrs_opt("undo", collection, "--list", "--json").out)["backups"]
    assert backup["file"] == written["backup"]
    assert backup["presets"][0]["preset"] == "Default"
    undone = strict(fsrs_opt("undo", collection, "--json").out)
    assert undone["changed"]
    assert undone["restored"]["undone"]


def test_takes_its_own_line_of_a_batch(fsrs_opt: Here, collection: Path, tmp_path: Path) -> None:
    lines = [
        {"parameters": {"0": w}, "verdict": "change", "path": str(path), "options": {"preset": ["Languages"]}}
        for path, w in ((tmp_path / "other", [0.5, *NEW[1:]]), (collection, list(NEW)))
    ]
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    done = fsrs_opt("apply", collection, "--all-presets", "--from", file, "--yes", "--json")
    assert done.code == 0
    written = [each["preset"] for each in strict(done.out)["presets"] if each["written"]]
    assert written == ["Languages"]
    assert stored(collection, "Languages") == NEW


def test_dry_run_writes_nothing(fsrs_opt: Here, collection: Path, result: Path) -> None:
    original = collection.read_bytes()
    done = fsrs_opt("apply", collection, "--preset", "Languages", "--from", result, "--dry-run")
    assert done.code == 0
    assert "Nothing was written" in done.out
    assert collection.read_bytes() == original
    assert os.listdir(collection.parent) == ["collection.anki2"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--from", "RESULT", "--preset", "Languages"], 1, "no terminal to ask on"),
        (["--from", "RESULT", "--preset", "Languages", "--json"], 2, "--json asks no question"),
        (["--preset", "Languages", "--yes"], 2, "one of --optimize, --from FILE, --parameters"),
        (["--from", "RESULT", "--optimize", "--yes"], 2, "one of --optimize, --from FILE, --parameters"),
        (
            ["--from", "RESULT", "--preset", "x", "--all-presets", "--yes"],
            2,
            "either --preset or --all-presets",
        ),
        (["--from", "RESULT", "--yes"], 1, "3 presets in use"),
        (["--from", "KEEP", "--preset", "Languages", "--yes"], 1, "--force"),
        (["--parameters", "1, 2, 3", "--yes"], 2, "21"),
        (["--from", "missing.json", "--preset", "Languages", "--yes"], 1, "missing.json does not exist"),
    ],
)
def test_one_sentence_and_nothing_written(
    fsrs_opt: Here,
    collection: Path,
    result: Path,
    tmp_path: Path,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    original = collection.read_bytes()
    keep = result_file(tmp_path, decision="keep")
    filled = [{"RESULT": str(result), "KEEP": str(keep)}.get(each, each) for each in arguments]
    done = fsrs_opt("apply", collection, *filled)
    assert done.code == code
    assert words in done.err
    assert len(done.err.splitlines()) == 1
    assert collection.read_bytes() == original
    assert os.listdir(collection.parent) == ["collection.anki2"]


def test_what_is_there_already_is_no_failure(fsrs_opt: Here, collection: Path, result: Path) -> None:
    arguments = ("apply", collection, "--preset", "Languages", "--from", result, "--yes")
    assert fsrs_opt(*arguments).code == 0
    again = fsrs_opt(*arguments)
    assert again.code == 0
    assert "has these parameters already" in again.out
    assert len(list((collection.parent / "fsrs-opt-backups").glob("*.anki2"))) == 1


def test_optimize_fits_each_preset_to_its_own_reviews(fsrs_opt: Here, collection: Path) -> None:
    """As `optimize --preset` does; the sample's Languages was given parameters that fit badly."""
    fitted = strict(fsrs_opt("optimize", collection, "--preset", "Languages", "--json").out)
    done = strict(fsrs_opt("apply", collection, "--preset", "Languages", "--optimize", "--yes", "--json").out)
    (preset,) = done["presets"]
    assert fitted["verdict"]["decision"] == "change"
    assert preset["new_parameters"] == [float(each) for each in fitted["paste"].split(",")]
    assert preset["verdict"]["gain"] == pytest.approx(fitted["verdict"]["gain"]["mean"])
    assert stored(collection, "Languages") == tuple(preset["new_parameters"])


def test_parameters_from_the_command_line_are_judged_on_the_reviews(fsrs_opt: Here, collection: Path) -> None:
    nonsense = ", ".join(map(str, (90.0, 90.0, 90.0, 90.0, *NEW[4:])))
    refused = fsrs_opt("apply", collection, "--preset", "Languages", "--parameters", nonsense, "--yes")
    assert refused.code == 1
    assert "predict worse" in refused.out
    forced = fsrs_opt(
        "apply", collection, "--preset", "Languages", "--parameters", nonsense, "--yes", "--force"
    )
    assert forced.code == 0
    assert "  gain " in forced.out
    assert "held-out gain" not in forced.out  # they may have been fitted to these reviews
    assert stored(collection, "Languages")[:4] == (90.0, 90.0, 90.0, 90.0)


@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("n\n", False), ("\x03", False)])
def test_asks_on_a_terminal(collection: Path, result: Path, answer: str, written: bool) -> None:
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        command("apply", collection, "--preset", "Languages", "--from", result),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
        env=environment(TERM="xterm", COLUMNS="100"),
    )
    try:
        os.close(theirs)
        wait_for(ours, "Write this into the collection?")
        os.write(ours, answer.encode())
        wait_for(ours, "Backup:" if written else "Nothing was written" if answer == "n\n" else "Interrupted")
        program.wait(30)
    finally:
        program.kill()
        program.wait()
        os.close(ours)
    assert program.returncode == (130 if answer == "\x03" else 0)
    assert (stored(collection, "Languages") == NEW) is written


KILLED = """
import os, signal, sys
from pathlib import Path
from fsrs_opt.apply import live
from fsrs_opt.cli.main import main

where, number = float(sys.argv[1]), int(sys.argv[2])
del sys.argv[1:3]
live._PAGES_A_STEP = 20
real = live.Live.install

def install(self, source, progress=None):
    def step(share):
        if share >= where:
            os.kill(os.getpid(), number)
    return real(self, source, step)

live.Live.install = install
main()
"""


@pytest.mark.parametrize(
    ("what", "number", "share"),
    [
        ("apply", signal.SIGKILL, 0.5),
        ("apply", signal.SIGINT, 0.95),
        ("undo", signal.SIGKILL, 0.95),
        ("undo", signal.SIGINT, 0.5),
    ],
)
def test_ended_in_the_middle_of_the_last_transaction(
    fsrs_opt: Here, collection: Path, result: Path, what: str, number: signal.Signals, share: float
) -> None:
    write = ("--preset", "Languages", "--from", str(result), "--yes")
    if what == "undo":
        assert fsrs_opt("apply", collection, *write).code == 0
    before, n_files = contents(collection), len(list(collection.parent.rglob("*")))
    arguments = [what, str(collection), *(write if what == "apply" else ())]
    program = subprocess.run(
        [sys.executable, "-c", KILLED, str(share), str(int(number)), *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert program.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130), program.stderr
    if number == signal.SIGINT:
        assert len(list(collection.parent.rglob("*"))) == n_files
    assert (stored(collection, "Languages") == NEW) is (what == "undo")
    assert differing(before, contents(collection)) == {}
    # and it works the next time, whatever was left behind
    assert fsrs_opt(*arguments).code == 0
    assert (stored(collection, "Languages") == NEW) is (what == "apply")
    assert not list(collection.parent.rglob(".fsrs-opt-work-*"))


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_some_moment(fsrs_opt: Here, collection: Path, result: Path, seed: int) -> None:
    """scripts/kill_apply.py does it 50 times."""
    arguments = command("apply", collection, "--preset", "Languages", "--from", result, "--yes")
    before = contents(collection)
    program = subprocess.Popen(arguments, env=environment(), stdout=subprocess.DEVNULL)
    wal = Path(f"{collection}-wal")
    while program.poll() is None and not wal.exists():
        time.sleep(0.001)
    time.sleep(0.1 * seed)
    program.kill()
    program.wait()
    new = stored(collection, "Languages") == NEW
    assert differing(before, contents(collection)) == ({"col": 1, "deck_config": 1} if new else {})
    if new:
        assert strict(fsrs_opt("undo", collection, "--json").out)["changed"]
        assert differing(before, contents(collection)) == {}
