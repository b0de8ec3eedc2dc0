#!/usr/bin/env python3
"""Every wrong setup of the corpus ends with a located error and exit code 2, and writes nothing.

    AEGIR=build/release/apps/aegir/aegir python3 tests/bad_input/bad_input_test.py [unittest arguments]
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import corpus

AEGIR = os.path.abspath(os.environ.get("AEGIR", "build/release/apps/aegir/aegir"))
LOCATED = re.compile(r"^(--set: |[^\s:][^:]*:[1-9]\d*:[1-9]\d*: )(?!warning: )\S")


def judge(case, command, folder):
    """What is wrong with the program's answer to a case; an empty text if nothing is."""
    words = [AEGIR, command, "setup.yaml", *case.words] + (["-o", "out"] if command == "run" else [])
    before = sorted(os.listdir(folder))
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "it does not end"
    errors = done.stderr.decode("utf-8", "backslashreplace")
    said = f"\n    it said: {errors[:400].strip()}"
    if done.returncode != 2:
        return f"exit code {done.returncode}, not 2{said}"
    lines = [line for line in errors.splitlines() if LOCATED.match(line)]
    if not lines:
        return f"no line says where{said}"
    start = case.place if case.place.count(":") == 2 or case.place.startswith("--") else "setup.yaml:" + case.place
    ending = ":" if re.search(r":\d+:\d+$", start) else ""
    if not any(line.startswith(start + ending) and case.says in line for line in lines):
        return f"no line has '{case.says}' at {start}{said}"
    if re.search(r"bug in Aegir|terminate called|Sanitizer|Traceback|Assertion", errors):
        return f"it broke{said}"
    after = sorted(os.listdir(folder))
    if after != before:
        return f"it wrote {set(after) - set(before)}"
    return ""


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = corpus.all_cases()
        cls.folder = Path(tempfile.mkdtemp(prefix="aegir_bad_input_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for number, case in enumerate(cls.cases):
            files = {"setup.yaml": case.text, **case.files}
            for name, content in files.items():
                path = cls.folder / str(number) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def test_the_corpus_is_large_enough(self):
        names = [case.name for case in self.cases]
        self.assertGreaterEqual(len(names), 200)
        self.assertEqual(len(names), len(set(names)), "two cases have the same name")
        self.assertGreater(sum(bool(case.says and case.place) for case in self.cases), 200)

    def check_all(self, command):
        with concurrent.futures.ThreadPoolExecutor(max(2, min(8, len(os.sched_getaffinity(0))))) as pool:
            answers = pool.map(lambda pair: judge(pair[1], command, self.folder / str(pair[0])), enumerate(self.cases))
        wrong = [f"  {case.name}: {answer}" for case, answer in zip(self.cases, answers) if answer]
        if wrong:
            self.fail(f"{len(wrong)} of {len(self.cases)} cases:\n" + "\n".join(wrong))

    def test_check(self):
        self.check_all("check")

    def test_run(self):
        self.check_all("run")

    def test_explain_answers_alike(self):
        for case in [c for c in self.cases if c.name in ("misspelt gravity", "overrides of nobody", "mesh: missing", "a billion laughs")]:
            self.assertEqual(judge(case, "explain", self.folder / str(self.cases.index(case))), "", case.name)

    def test_the_judge_can_say_no(self):
        """A wrong place, a wrong message and a right setup are noticed."""
        number = next(i for i, case in enumerate(self.cases) if case.name == "misspelt gravity")
        case, folder = self.cases[number], self.folder / str(number)
        self.assertEqual(judge(case, "check", folder), "")
        self.assertIn("no line has", judge(corpus.Case("", "", case.says, "3:4"), "check", folder))
        self.assertIn("no line has", judge(corpus.Case("", "", "did you mean 'levity'?", case.place), "check", folder))
        right = self.folder / "right"
        right.mkdir()
        (right / "setup.yaml").write_text(corpus.nodes("- particles: p"))
        self.assertIn("exit code 0", judge(case, "check", right))


class Unreadable(unittest.TestCase):
    """Setups that are not there have a name, but no line."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="aegir_bad_input_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check(self, words, says):
        for command in (["check"], ["explain"], ["run", "-o", "out"]):
            done = subprocess.run([AEGIR, command[0], *words, *command[1:]], cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_missing(self):
        self.check(["nowhere.yaml"], "nowhere.yaml: the setup cannot be read: No such file")
        self.check(["no/where.yaml"], "no/where.yaml: ")
        self.check([""], "cannot be read")

    def test_folder(self):
        (self.folder / "setup.yaml").mkdir()
        self.check(["setup.yaml"], "setup.yaml: the setup cannot be read: it is a folder")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_forbidden(self):
        path = self.folder / "setup.yaml"
        path.write_text("aegir: 1\n")
        path.chmod(0)
        self.check(["setup.yaml"], "Permission denied")

    def test_conflicting_options(self):
        (self.folder / "setup.yaml").write_text(corpus.nodes("- particles: p"))
        for words, says in [(["--frames", "-5:10"], "--frames"), (["--frames", "10:5"], "--frames"), (["--resume=5"], "--resume=5"), (["-o", "setup.yaml"], "setup.yaml"),
                            (["-o", "setup.yaml/out"], "setup.yaml")]:
            done = subprocess.run([AEGIR, "run", "setup.yaml", *(["-o", "out"] if "-o" not in words else []), *words], cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, f"{words}: {done.stderr}")
            self.assertIn(says, done.stderr)
            self.assertEqual(os.listdir(self.folder), ["setup.yaml"], words)


if __name__ == "__main__":
    if not os.access(AEGIR, os.X_OK):
        sys.exit(f"{AEGIR} is not a program; set AEGIR to the one to test")
    unittest.main()
