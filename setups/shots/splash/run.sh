#!/bin/bash
# The whole job: meshes, simulation, pictures. Started again, it goes on where it was.
#
#   setups/shots/splash/run.sh                       a small one: 170 thousand particles
#   VOXEL=2cm setups/shots/splash/run.sh             full size: 21 million particles
#
# Also: OUT (run directory), FRAMES (1001:1200), AEGIR (the program).
set -eu -o pipefail
shot=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$shot/../../..")
aegir=${AEGIR:-$root/aegir}
voxel=${VOXEL:-10cm}
out=${OUT:-$root/runs/splash_$voxel}

python3 "$root/tools/make_meshes.py" "$shot/geo" comet
"$aegir" run "$shot/splash.yaml" -o "$out" --set "voxel=$voxel" --frames "${FRAMES:-1001:1200}" --resume
"$aegir" preview "$out" --size 960x540
