#!/bin/bash
# The whole job: meshes, simulation, pictures, the surface of one frame and its picture in Blender. Started again, it goes on where it was.
#
#   setups/shots/splash/run.sh                       a small one: 170 thousand particles
#   VOXEL=2cm setups/shots/splash/run.sh             full size: 21 million particles
#
# Also: OUT (run directory), FRAMES (1001:1200), PICTURE (the frame for Blender, 1024), SIZE and SAMPLES
# of its picture, AEGIR (the program).
set -eu -o pipefail
shot=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$shot/../../..")
aegir=${AEGIR:-$root/aegir}
voxel=${VOXEL:-10cm}
out=${OUT:-$root/runs/splash_$voxel}
frames=${FRAMES:-1001:1200}
last=${frames#*:}
picture=${PICTURE:-$((last < 1024 ? last : 1024))}

python3 "$root/tools/make_meshes.py" "$shot/geo" comet
"$aegir" run "$shot/splash.yaml" -o "$out" --set "voxel=$voxel" --frames "$frames" --resume
"$aegir" preview "$out" --size 960x540

"$aegir" surface "$out/water/water.points.\$F4.vdb" -o "$out/surface" --name water --mesh ply --frames "$picture:$picture"
if ! command -v blender >/dev/null; then
  echo "blender   not installed: no picture of its own"
elif [ ! -e "$out/blender.$picture.png" ]; then
  blender -b -P "$root/blender/open_run.py" -- "$out" --surfaces "$out/surface" --aegir "$aegir" --frame "$picture" \
    --size "${SIZE:-960x540}" --samples "${SAMPLES:-48}" --render "$out/blender.$picture.png" | grep -E '^(open_run|Saved)'
fi
