"""Runs one part of aegir_mpi_test on 1, 2 and 4 ranks and on 1, 2 and 7 threads; all must print the same lines.

    python3 compare_ranks.py mpirun build/tests/mpi/aegir_mpi_test domain
"""
import os
import subprocess
import sys

ENVIRONMENT = {
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def lines_of(launcher, program, part, ranks, threads):
    command = [program, part, str(threads)]
    if ranks:
        command = [launcher, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] + command
    result = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout.splitlines()


def main():
    launcher, program, part = sys.argv[1:4]
    # ranks 0: without a launcher, the process alone
    runs = [(0, 1), (1, 1), (2, 1), (4, 1), (0, 2), (0, 7), (2, 2), (4, 7)]
    expected = lines_of(launcher, program, part, *runs[0])
    if not expected:
        sys.exit("nothing was printed")
    print("\n".join(expected))
    failed = False
    for ranks, threads in runs[1:]:
        found = lines_of(launcher, program, part, ranks, threads)
        for a, b in zip(expected, found):
            if a != b:
                print(f"{ranks} ranks, {threads} threads: '{b}' instead of '{a}'")
                failed = True
        if len(found) != len(expected):
            print(f"{ranks} ranks, {threads} threads: {len(found)} lines instead of {len(expected)}")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
