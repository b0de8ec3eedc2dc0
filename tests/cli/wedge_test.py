#!/usr/bin/env python3
"""`aegir wedge`: one run per combination, one table, one contact sheet; failures are noted, a stopped wedge goes on."""
import json
import signal
import subprocess
import unittest

import support


class Wedge(support.AegirTest):
    def setUp(self):
        super().setUp()
        self.setup_file = self.write("rain.yaml", support.rain(last=3, substeps="1"))

    def wedge(self, *words, out=None, **options):
        return self.aegir("wedge", self.setup_file, "-o", out or self.out, *words, **options)

    def table(self, out=None):
        return json.loads(((out or self.out) / "wedge.json").read_text())["runs"]

    def test_a_product_of_values(self):
        done = self.wedge("--set", "rate=1000,4000", "--set", "nozzle.velocity=[0,3,0],[0,6,0]", "--threads", 1)
        runs = self.table()
        self.assertEqual([r["run"] for r in runs], ["0001", "0002", "0003", "0004"])
        self.assertEqual(runs[2]["values"], {"rate": "4000", "nozzle.velocity": "[0,3,0]"})
        self.assertEqual({r["outcome"] for r in runs}, {"finished"})
        self.assertGreater(runs[2]["particles"], runs[0]["particles"])
        self.assertGreater(runs[1]["max_speed"], runs[0]["max_speed"])
        self.assertTrue((self.out / "contact_sheet.png").read_bytes().startswith(b"\x89PNG"))
        text = (self.out / "wedge.md").read_text()
        for word in ["rate", "nozzle.velocity", "[0,6,0]", "contact_sheet.png"]:
            self.assertIn(word, text)
            if "png" not in word:
                self.assertIn(word, done.stdout)
        # A run of a wedge is the run that the values alone would give.
        alone = self.folder / "alone"
        self.run_setup(self.setup_file, "--set", "rate=4000", "--set", "nozzle.velocity=[0,3,0]", out=alone)
        self.assert_same_run(alone, self.out / "0003")

    def test_default_folder_and_json(self):
        done = self.aegir("wedge", "rain.yaml", "--set", "rate=100,200", "--frames", "1:2", "--progress", "json")
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([e["run"] for e in events if e["event"] == "wedge"], ["0001", "0002"])
        self.assertEqual(events[-1]["event"], "wedge_done")
        self.assertTrue((self.folder / "runs/rain_wedge/0002/drops/drops.points.0002.vdb").exists())
        self.assertFalse((self.folder / "runs/rain_wedge/0002/drops/drops.points.0003.vdb").exists())

    def test_wrong_words_end_with_2_and_write_nothing(self):
        for words in [[], ["--set", "rate=1000"], ["--set", "rate=[1,2]"], ["--set", "rate=1,1"], ["--set", "raet=1,2"], ["--set", "rate"],
                      ["--set", "rate=1,2", "--set", "rate=3,4"]]:
            with self.subTest(words=words):
                self.assertTrue(self.wedge(*words, code=2).stderr.strip())
                self.assertFalse(self.out.exists())

    def test_failures_are_noted_and_the_others_go_on(self):
        done = self.wedge("--set", "nozzle.velocity=[0,1e39,0],[0,3,0]", "--set", "rate=1000,-4", code=None)
        self.assertEqual([r["code"] != 0 for r in self.table()], [True, True, False, True])
        self.assertEqual(done.returncode, max(r["code"] for r in self.table()))
        self.assertIn("'rate' is -4", done.stderr)

    def test_a_folder_with_a_wedge_is_refused_and_resumed(self):
        self.wedge("--set", "rate=1000,2000")
        self.assertIn("--resume", self.wedge("--set", "rate=1000,2000", code=2).stderr)
        self.wedge("--set", "rate=2000,3000", "--resume")
        self.assertEqual([r["values"]["rate"] for r in self.table()], ["1000", "2000", "3000"])

    def test_a_stopped_wedge_goes_on(self):
        self.setup_file = self.write("rain.yaml", support.rain(last=60, substeps="4", rate=40000))
        words = ["wedge", self.setup_file, "-o", self.out, "--set", "nozzle.seed=1,2", "--threads", 1]
        process = subprocess.Popen(self.command(*words), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.put_down, process)
        self.wait_until(process, lambda: (self.out / "0001/drops/drops.points.0003.vdb").exists(), "frame 3")
        process.send_signal(signal.SIGTERM)
        self.finish(process, 128 + signal.SIGTERM)
        self.assertEqual([r["outcome"] for r in self.table()], ["stopped", ""])
        self.aegir(*words, "--resume")
        self.assertEqual({r["outcome"] for r in self.table()}, {"finished"})
        alone = self.folder / "alone"
        self.run_setup(self.setup_file, "--set", "nozzle.seed=1", "--threads", 1, out=alone)
        self.assert_same_run(alone, self.out / "0001")

    @unittest.skipUnless(support.has_mpirun(), "mpirun is not there")
    def test_ranks(self):
        done = self.wedge("--set", "rate=1000,2000", "--threads", 1, ranks=2)
        self.assertEqual(done.stdout.count("wedge.json"), 1, "more than one rank talks")
        self.assertEqual({r["outcome"] for r in self.table()}, {"finished"})


if __name__ == "__main__":
    support.main()
