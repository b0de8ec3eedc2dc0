#!/usr/bin/env python3
"""Expressions in setups: the same bits on any threads and ranks and after resuming, and messages that name the place."""
import signal
import time
import unittest

import support

CLOUD = """aegir: 1
timeline: {frames: [1, %(last)d], substeps: 2, checkpoint: {every: 2, keep: 100}}
setup:
  - gravity: earth
  - particles: dust
    voxel_size: 10 cm
  - emitter: puff
    shape: {kind: box, center: [0, 1, 0], size: [3, 1, 2]}
    count: 6000
    rate: 3000
    spread: 1 m/s
  - expression: z_shake
    code: |
      v@v += 0.1 * ({rand(), rand(), rand()} - 0.5);
      f@heat = f@heat * 0.9 + rand();
  - expression: near
    stage: after_solve
    code: 'i@near = neighbourcount(0.2); f@mean = neighbouraverage("heat", 0.2);'
  - expression: calm
    stage: after_solve
    variables: {part: {keys: {1: 0, %(last)d: 0.5}}}
    code: if (i@near > 20) v@v *= 1 - $part;
  - expression: a_thin
    code: |
      if (rand() > 0.99 || @age > 0.2 + 0.1 * @heat) deletepoint();
outputs:
  - points: cache
    attributes: [v, id, age, heat, near, mean]
"""

POOL = """aegir: 1
timeline: {frames: [1, 5], substeps: 2, checkpoint: {every: 1, keep: 100}}
setup:
  - gravity: earth
  - pressure: p
  - hybrid: water
    voxel_size: 8 cm
  - source: fill
    shape: {kind: box, center: [0, 0.4, 0], size: [2, 0.8, 1]}
  - domain: tank
    box: {min: [-1, 0, -0.5], max: [1, 2, 0.5]}
  - expression: swirl
    over: voxels
    stage: after_forces
    code: |
      v@vel += cross({0, 4, 0}, getvoxelpws()) * $dt;
      f@gust = f@gust * 0.5 + rand();
  - expression: colour
    stage: frame_end
    code: f@spin = length(@vorticity); f@wet = f@wet + 1;
  - expression: skim
    code: if (@P.y > 0.75 && rand() < 0.1) deletepoint();
outputs:
  - points: cache
    attributes: [v, id, spin, wet]
  - volumes: grids
    fields: [vel, gust]
"""


class Bits(support.AegirTest):
    def check(self, text, last):
        setup = self.write("setup.yaml", text)
        whole = self.folder / "whole"
        self.run_setup(setup, "--threads", 1, out=whole)
        for threads in [2, 7]:
            with self.subTest(threads=threads):
                out = self.folder / f"threads{threads}"
                self.run_setup(setup, "--threads", threads, out=out)
                self.assert_same_run(whole, out)
        for ranks in [1, 2, 4] if support.has_mpirun() else []:
            with self.subTest(ranks=ranks):
                out = self.folder / f"ranks{ranks}"
                self.run_setup(setup, "--threads", 1, out=out, ranks=ranks)
                self.assert_same_run(whole, out)
        with self.subTest("resume"):
            out = self.folder / "resumed"
            self.run_setup(setup, "--frames", f"1:{last // 2}", out=out)
            self.run_setup(setup, "--frames", f"1:{last}", "--resume", out=out)
            self.assert_same_run(whole, out)
        return whole

    def test_particles(self):
        whole = self.check(CLOUD % {"last": 8}, 8)
        lines = self.stats(whole)
        self.assertGreater(lines[-1]["objects"]["dust"]["removed"]["a_thin"], 0)
        self.assertLess(lines[-1]["objects"]["dust"]["particles"], 6500)  # of 6875 that were emitted
        info = self.aegir("info", whole / "dust/dust.points.0008.vdb").stdout
        for name in ["heat", "near", "mean"]:
            self.assertIn(name, info)

    def test_another_seed_gives_other_bits(self):
        setup = self.write("setup.yaml", CLOUD % {"last": 3})
        self.run_setup(setup, out=self.folder / "a")
        self.run_setup(setup, "--set", "z_shake.seed=2", out=self.folder / "b")
        a, b = self.hashes(self.folder / "a"), self.hashes(self.folder / "b")
        self.assertEqual(a["dust/dust.points.0001.vdb"], b["dust/dust.points.0001.vdb"])
        self.assertNotEqual(a["dust/dust.points.0003.vdb"], b["dust/dust.points.0003.vdb"])

    def test_liquid(self):
        whole = self.check(POOL, 5)
        water = self.stats(whole)[-1]["objects"]["water"]
        self.assertGreater(water["removed"]["skim"], 0)
        self.assertIn("spin", self.aegir("info", whole / "water/water.points.0005.vdb").stdout)
        self.assertIn("gust", self.aegir("info", whole / "water/water.volumes.0005.vdb").stdout)


HEAD = "aegir: 1\nsetup:\n- particles: dust\n- emitter: e\n  shape: {kind: sphere}\n  count: 9\n"  # six lines


class Messages(support.AegirTest):
    def message(self, node, **files):
        for name, text in files.items():
            self.write(name.replace("_", "."), text)
        self.write("s.yaml", HEAD + node)
        done = self.aegir("check", "s.yaml", code=None)
        self.assertIn(done.returncode, [2, 4], done.stdout + done.stderr)
        return done.stderr

    def test_places(self):
        for node, says in [
            ("- expression: x\n  code: |\n    f@a = 1;\n    f@b = nothing(2);\n", "s.yaml:10:11: "),
            ("- expression: x\n  code: |-\n\n      f@a = 1;\n        f@b = nothing(2);\n  seed: 4\n", "s.yaml:11:15: "),
            ("- expression: x\n  code: f@b = nothing(2);\n", "s.yaml:8:15: "),
            ("- expression: x\n  code: 'f@b = nothing(2);'\n", "s.yaml:8:16: "),
            ("- expression: x\n  code: \"f@a = 1;\\nf@b = nothing(2);\"\n", "s.yaml:8:26: "),
            ("- {expression: x, code: f@b = nothing(2);}\n", "s.yaml:7:31: "),
            ("- expression: x\n  code: f@b = $wind;\n", "s.yaml:8:15: there is no variable '$wind'"),
            ("- expression: x\n  code: |\n    f@a = 1\n    f@b = 2;\n", "s.yaml:10:5: "),
            ("- expression: x\n  code: |\n    // P\n    v@P += 1;\n  stage: after_forces\n", "s.yaml:10:6: @P cannot be changed"),
            ("- expression: x\n  code: if (@age > 1) deletepoint();\n  stage: after_solve\n", "s.yaml:8:23: deletepoint() cannot"),
            ("- expression: x\n  code: f@n = neighbourcount(0.1);\n", "s.yaml:8:15: neighbours are known at 'after_forces' and"),
            ("- expression: x\n  code: f@age = neighbouraverage(\"age\", 0.1);\n  stage: after_solve\n", "s.yaml:8:17: 'age' is averaged"),
            ("- expression: x\n  code: i@id = 3;\n", "s.yaml:8:9: attribute 'id' cannot be written"),
            ("- expression: x\n  code: f@v = 1;\n", "s.yaml:8:"),
            ("- expression: x\n  code: v@a = sample(\"air\", \"vel\", @P);\n", "s.yaml:8:15: there is no Object 'air' to sample; there is none"),
            ("- expression: x\n", "s.yaml:7:3: 'expression': give one of 'code' and 'file'"),
            ("- expression: x\n  code: f@a = 1;\n  file: a.ax\n", "give one of 'code' and 'file'"),
            ("- expression: x\n  file: gone.ax\n", "s.yaml:8:9: "),
            ("- expression: x\n  code: f@a = 1;\n  objects: [dast]\n", "did you mean 'dust'?"),
            ("- expression: x\n  code: f@a = 1;\n  variables: {dt: 1}\n", "$dt is given by the run"),
            ("- expression: x\n  code: f@a = 1;\n  variables: {a b: 1}\n", "'a b' cannot be written"),
            ("- expression: x\n  code: f@a = 1;\n  stage: move\n", "s.yaml:9:10: "),
            ("- expression: x\n  code: deletepoint();\n  over: voxels\n  objects: dust\n", "no Object 'dust' with a grid"),
        ]:
            with self.subTest(node=node):
                self.assertIn(says, self.message(node))

    def test_place_in_a_file_of_its_own(self):
        text = self.message("- expression: x\n  file: code.ax\n", code_ax="f@a = 1;\n  f@b = nothing(2);\n")
        self.assertIn("code.ax:2:9: ", text)

    def test_types_of_two_expressions_must_agree(self):
        text = self.message("- expression: a\n  code: f@heat = 1;\n- expression: b\n  code: v@heat = 1;\n")
        self.assertIn("s.yaml:10:", text)

    def test_neighbours_out_of_reach(self):
        setup = self.write("s.yaml", HEAD + "- expression: x\n  stage: after_solve\n  code: f@n = neighbourcount(1000);\n")
        done = self.run_setup(setup, code=3)
        self.assertIn("use a smaller radius or larger cells", done.stderr)


class Interrupted(support.AegirTest):
    """Ctrl-C reaches into a snippet: a loop that goes on too long ends at once, and the run goes on from its last checkpoint."""

    def test_a_long_loop(self):
        text = CLOUD % {"last": 4}
        slow = """  - expression: slow
    loop_limit: 1000000000000
    code: |
      float x = @heat;
      if ($frame > 2) while (x > -1) x += 1;
      f@x = x;
outputs:"""
        setup = self.write("setup.yaml", text.replace("outputs:", slow, 1))
        process = self.start(setup, "--threads", 2, "--checkpoint-every", 1)
        self.wait_until(process, lambda: "0002" in self.checkpoints(self.out), "checkpoint 2")
        time.sleep(1)  # it is in the loop of frame 3, or will be
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = self.finish(process, 128 + signal.SIGINT)
        self.assertLess(time.monotonic() - asked, 30)
        self.assertIn("stopped", output)
        self.assertEqual(self.checkpoints(self.out)[-1], "0002")
        self.assert_tidy(self.out)
        self.assertEqual(max(map(self.frame_number, self.frames(self.out))), 2)
        # The state of the checkpoint is whole: without the loop the run goes on to its end.
        self.run_setup(setup, "--resume", "--set", "slow.code=f@x = 1;")
        self.assertEqual(max(map(self.frame_number, self.frames(self.out))), 4)


if __name__ == "__main__":
    support.main()
