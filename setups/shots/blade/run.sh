#!/bin/bash
# The whole job: meshes, simulation, pictures, the surface of one frame and its picture in Blender. Started again, it goes on where it was.
#
#   setups/shots/blade/run.sh                        a small one: 70 thousand particles
#   VOXEL=6mm setups/shots/blade/run.sh              full size: 21 million particles
#
# Also: OUT (run directory), FRAMES (1001:1200), EVERY (only frames whose number it divides are written, where disk is short),
# PICTURE (the frame for Blender, 1110), SIZE and SAMPLES of its picture, AEGIR (the program).
set -eu -o pipefail
shot=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$shot/../../..")
aegir=${AEGIR:-$root/aegir}
voxel=${VOXEL:-4cm}
out=${OUT:-$root/runs/blade_$voxel}
frames=${FRAMES:-1001:1200}
every=${EVERY:-1}
last=${frames#*:}
picture=${PICTURE:-$(((last < 1110 ? last : 1110) / every * every))}

python3 "$root/tools/make_meshes.py" "$shot/geo" heap blade flap
"$aegir" run "$shot/blade.yaml" -o "$out" --set "voxel=$voxel" --set "every=$every" --frames "$frames" --resume
"$aegir" preview "$out" --look particles --size 960x540

"$aegir" surface "$out/sand/sand.points.\$F4.vdb" -o "$out/surface" --name sand --mesh ply --attributes rest --frames "$picture:$picture"
if ! command -v blender >/dev/null; then
  echo "blender   not installed: no picture of its own"
elif [ ! -e "$out/blender.$picture.png" ]; then
  blender -b -P "$root/blender/open_run.py" -- "$out" --surfaces "$out/surface" --aegir "$aegir" --frame "$picture" \
    --size "${SIZE:-960x540}" --samples "${SAMPLES:-48}" --render "$out/blender.$picture.png" | grep -E '^(open_run|Saved)'
fi
