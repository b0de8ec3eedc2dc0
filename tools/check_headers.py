#!/usr/bin/env python3
"""Fails on a header under src/ that does not compile alone.

    tools/check_headers.py [ROOT] [--compiler g++] [--cache DIR] [--jobs 2]

A header is compiled again only when it, a file it includes, the compiler or the flags changed: the cache remembers a
hash of all of them. Prints the header with the compiler's words and ends with 1 when one fails.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-march=x86-64-v3", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only", "-x", "c++"]


def own_includes(text):
    return re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE)


class Contents:
    """Hashes of headers together with everything of ours that they include."""

    def __init__(self, source):
        self.source = source
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            file = self.source / path
            self.texts[path] = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None
        return self.texts[path]

    def digest(self, header, salt):
        seen, waiting = set(), [header]
        while waiting:
            path = waiting.pop()
            if path in seen or self.text(path) is None:
                continue
            seen.add(path)
            waiting += own_includes(self.text(path))
        whole = hashlib.sha256(salt.encode())
        for path in sorted(seen):
            whole.update(f"{path}\0{self.text(path)}\0".encode())
        return whole.hexdigest()


def compile_alone(compiler, source, header):
    """The compiler's words, empty when the header compiles. It is included twice, so that a missing guard shows too."""
    unit = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run([compiler, *FLAGS, f"-I{source}", "-"], input=unit, text=True, capture_output=True)
    return "" if done.returncode == 0 else done.stderr or f"{compiler} ended with {done.returncode}"


def read_cache(file):
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--cache", type=Path, help="folder that remembers headers known to be good")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    source = arguments.root.resolve() / "src"
    headers = sorted(str(h.relative_to(source)) for h in source.rglob("*.h"))
    if not headers:
        print(f"{source}: no headers")
        return 1

    version = subprocess.run([arguments.compiler, "--version"], text=True, capture_output=True, check=True).stdout
    salt = "\n".join([version, *FLAGS])
    contents = Contents(source)
    digests = {header: contents.digest(header, salt) for header in headers}
    cache_file = arguments.cache / "headers.json" if arguments.cache else None
    known = read_cache(cache_file) if cache_file else {}
    stale = [header for header in headers if known.get(header) != digests[header]]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        words = dict(zip(stale, pool.map(lambda header: compile_alone(arguments.compiler, source, header), stale)))

    if cache_file:
        arguments.cache.mkdir(parents=True, exist_ok=True)
        temporary = cache_file.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({h: digests[h] for h in headers if not words.get(h)}, indent=1))
        temporary.replace(cache_file)
    for header, text in words.items():
        if text:
            print(f"src/{header}: does not compile alone\n{text}")
    return 1 if any(words.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
