#!/usr/bin/env python3
"""A farm that kills: runs a setup undisturbed, then again with ranks killed at random, resuming every time on another number of
ranks, and compares every frame bit for bit.

    farm.py SETUP -o DIR [--kills 6] [--seed 1] [--ranks 1,2,3] [--frames 1001:1030] [--set voxel=2cm] [--aegir PROGRAM]

Ends with 0 when both runs hold the same frames. DIR/whole is the undisturbed run, DIR/killed the other. What happens follows from the
seed and from how fast the machine is.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MPI_FLAGS = ["--oversubscribe", "--bind-to", "none"]
# More ranks than cores must give way to each other, and containers often forbid reading another process's memory.
ENVIRONMENT = {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PATIENCE = 600  # seconds after which a job is taken to hang


class Job:
    """A run on some ranks; 0 is the program without a launcher."""

    def __init__(self, command, ranks, folder=None):
        self.ranks = ranks
        self.started = time.time()
        self.errors = tempfile.TemporaryFile()
        launcher = ["mpirun", *MPI_FLAGS, "-n", str(ranks)] if ranks else []
        self.process = subprocess.Popen([*launcher, *map(str, command)], cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                        stderr=self.errors)

    def running(self):
        return self.process.poll() is None

    def rank_processes(self):
        """{rank: process}, of those that are there."""
        if not self.ranks:
            return {0: self.process.pid} if self.running() else {}
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                stat = Path("/proc", entry, "stat").read_text()
                if stat.rpartition(")")[2].split()[1] != str(self.process.pid):
                    continue
                mark = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", Path("/proc", entry, "environ").read_bytes())
            except OSError:
                continue  # it has just ended
            if mark:
                found[int(mark.group(1))] = int(entry)
        return found

    def kill_rank(self, rank):
        """SIGKILL to one rank; its process, or None where it is not there."""
        process = self.rank_processes().get(rank)
        if process:
            os.kill(process, signal.SIGKILL)
        return process

    def kill_all(self):
        """SIGKILL to the launcher and all ranks, as when a machine loses its power."""
        processes = self.rank_processes()
        self.process.kill()
        for process in processes.values():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def end(self, patience=PATIENCE):
        """Waits; exit code and what was said on standard error."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill_all()
            self.process.wait()
            raise
        with self.errors:
            self.errors.seek(0)
            return self.process.returncode, self.errors.read().decode(errors="replace")


def frame_files(out):
    found = []
    for folder, folders, names in os.walk(out):  # what vanishes meanwhile is passed over
        folders[:] = [f for f in folders if f != "checkpoints" and not f.startswith(".")]
        found += [os.path.relpath(os.path.join(folder, n), out) for n in names if n.endswith((".vdb", ".ply")) and not n.startswith(".")]
    return sorted(found)


def newest_frame(out):
    return max((int(name.rsplit(".", 2)[1]) for name in frame_files(out)), default=0)


def hashes(program, out):
    files = frame_files(out)
    if not files:
        return {}
    done = subprocess.run([program, "info", "--hash", *files], cwd=out, capture_output=True, text=True, check=True)
    return {line[34:]: line[:32] for line in done.stdout.splitlines()}


def audits(out):
    """What stats.jsonl says of the Objects, which does not depend on machines."""
    lines = [json.loads(line) for line in (Path(out) / "stats.jsonl").read_text().splitlines()]
    return [(line["frame"], line["substep"], line["dt"], line["objects"]) for line in lines]


def differences(program, whole, killed):
    """What is not the same in two runs, as lines."""
    one, other = hashes(program, whole), hashes(program, killed)
    found = [f"{name}: {'missing' if name not in other else 'too much' if name not in one else 'another content'}"
             for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    if not one:
        found.append("the undisturbed run wrote nothing")
    if audits(whole) != audits(killed):
        found.append("stats.jsonl: other audits")
    return found


class Farm:
    """Starts a run again and again and kills it at random moments."""

    def __init__(self, command, out, frames, chance, ranks, log=print):
        self.command, self.out, self.frames, self.chance, self.ranks, self.log = command, Path(out), frames, chance, ranks, log
        self.slowest_end = 0.0
        self.silent = []  # kills of one rank that were not told of

    def watched(self, job):
        """Whether all ranks of this session have begun to look after each other."""
        try:
            board = (self.out / ".aegir_ranks").stat()
        except OSError:
            return False
        return board.st_mtime > job.started and board.st_size == 256 * job.ranks

    def kill_once(self, number):
        """One session that does not reach its end; False if it was quicker than we."""
        ranks = self.chance.choice(self.ranks)
        job = Job(self.command, ranks if ranks > 1 else 0)
        begin = newest_frame(self.out)
        goal = begin + self.chance.randint(0, self.frames)
        limit = time.monotonic() + (self.chance.uniform(0, 1) if self.chance.random() < 0.2 else PATIENCE)
        while job.running() and newest_frame(self.out) <= goal and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(self.chance.uniform(0, 0.1))
        if not job.running():
            code, said = job.end()
            if code != 0:
                raise SystemExit(f"farm: a session that nobody killed ended with {code}\n{said}")
            return False
        victim = self.chance.choice([None, *range(max(1, ranks))])
        watched = self.watched(job)
        if victim is None or ranks < 2:
            job.kill_all()
            what, process = "all", None
        else:
            process = job.kill_rank(victim)
            what = f"rank {victim}"
        killed = time.monotonic()
        _, said = job.end(60)
        seconds = time.monotonic() - killed
        if process:
            self.slowest_end = max(self.slowest_end, seconds)
            told = f"rank {victim} (process {process}" in said and "--resume" in said
            if watched and not told:
                self.silent.append(said)
        self.log(f"kill {number:3}: {what:7} of {ranks} at frame {newest_frame(self.out)}; the job ended after {seconds:.1f} s")
        return True

    def run(self, kills):
        """Kills so many times, then lets the run come to its end; how often it was killed."""
        done = 0
        while done < kills and self.kill_once(done + 1):
            done += 1
        ranks = self.chance.choice(self.ranks)
        code, said = Job(self.command, ranks if ranks > 1 else 0).end()
        if code != 0:
            raise SystemExit(f"farm: the last session ended with {code}\n{said}")
        return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setup", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--aegir", default=os.environ.get("AEGIR", "aegir"))
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", default="1,2,3", help="numbers of ranks that sessions are started on, in turn at random")
    parser.add_argument("--frames", default="1001:1200")
    parser.add_argument("--set", action="append", default=[])
    a = parser.parse_args()
    ranks = [int(n) for n in a.ranks.split(",")]
    if not shutil.which("mpirun"):
        print("farm: mpirun is not there; every session is one process")
        ranks = [1]
    program = shutil.which(a.aegir) or sys.exit(f"farm: there is no program {a.aegir}")
    first, last = (int(n) for n in a.frames.split(":"))
    command = [program, "run", a.setup.resolve(), "--frames", a.frames, "--threads", "1", "--resume"]
    for change in a.set:
        command += ["--set", change]
    whole, killed = a.output / "whole", a.output / "killed"
    for folder in (whole, killed):
        if folder.exists():
            sys.exit(f"farm: {folder} is there already; remove it or choose another folder with -o")
    started = time.monotonic()
    code, said = Job([*command, "-o", whole], 0).end(1e6)
    if code != 0:
        sys.exit(f"farm: the undisturbed run ended with {code}\n{said}")
    print(f"undisturbed: {last - first + 1} frames in {time.monotonic() - started:.1f} s", flush=True)
    farm = Farm([*command, "-o", killed], killed, max(1, (last - first + 1) // max(1, a.kills)), random.Random(a.seed), ranks,
                log=lambda text: print(text, flush=True))
    kills = farm.run(a.kills)
    found = differences(program, whole, killed)
    for line in found[:20]:
        print(f"farm: {line}", file=sys.stderr)
    for said in farm.silent:
        print(f"farm: a rank was killed and nobody said which\n{said}", file=sys.stderr)
    print(f"killed {kills} times; a job with a killed rank ended after {farm.slowest_end:.1f} s at most; "
          f"{len(frame_files(killed))} frame files, {'the same bits' if not found else f'{len(found)} differences'}")
    return 1 if found or farm.silent else 0


if __name__ == "__main__":
    sys.exit(main())
