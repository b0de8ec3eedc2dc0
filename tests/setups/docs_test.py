"""Every setup in the manual is right: checks each YAML block of docs/*.md and README.md that starts with `aegir:`.

    docs_test.py PROGRAM [ROOT]

Blocks with a comment `# later` show what is not there yet and are skipped. Blocks may use setups/lib and setups/geo.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def blocks(page):
    """(line of the first line, text) of every fenced YAML block."""
    found, inside, start, indent = [], None, 0, 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if inside is None:
            if stripped in ("```yaml", "```yml"):
                inside, start, indent = [], number + 1, len(line) - len(line.lstrip())
        elif stripped == "```":
            found.append((start, "\n".join(inside) + "\n"))
            inside = None
        else:
            inside.append(line[indent:] if line[:indent].isspace() else line)
    if inside is not None:
        sys.exit(f"{page}:{start}: the block is not closed")
    return found


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).parents[2]).resolve()
    pages = sorted((root / "docs").glob("*.md")) + [p for p in [root / "README.md"] if p.exists()]
    checked = skipped = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for shared in ("lib", "geo"):
            shutil.copytree(root / "setups" / shared, here / shared)
        before = sorted(p for p in here.rglob("*"))
        for page in pages:
            for line, text in blocks(page):
                if not text.startswith("aegir:"):
                    continue
                if "# later" in text:
                    skipped += 1
                    continue
                checked += 1
                # Empty lines in front make the program's line numbers those of the page.
                (here / page.name).write_text("\n" * (line - 1) + text, encoding="utf-8")
                done = subprocess.run([program, "check", page.name], cwd=here, capture_output=True, text=True)
                (here / page.name).unlink()
                if done.returncode != 0:
                    wrong += 1
                    print(f"{page}:{line}: 'aegir check' ends with {done.returncode}\n{done.stdout}{done.stderr}")
        if sorted(p for p in here.rglob("*")) != before:
            sys.exit("'aegir check' wrote files")
    print(f"{checked} setups in {len(pages)} pages checked, {skipped} left for later, {wrong} wrong")
    if checked < 10:
        sys.exit("there are hardly any setups in the manual; are the blocks still found?")
    sys.exit(1 if wrong else 0)


main()
