#!/bin/bash
# A farm that kills: the undisturbed run, the run that is killed and resumed, the comparison. See README.md.
#
#   setups/shots/farm/run.sh                         small: 9 thousand particles
#   VOXEL=8mm KILLS=20 setups/shots/farm/run.sh      full size: 2.2 million particles
#
# Also: OUT (folder), FRAMES (1001:1200), SEED (1), RANKS (1,2,3: numbers of ranks to choose from), AEGIR (the program).
set -eu -o pipefail
shot=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$shot/../../..")
voxel=${VOXEL:-5cm}
out=${OUT:-$root/runs/farm_$voxel}

python3 "$shot/farm.py" "$shot/farm.yaml" -o "$out" --aegir "${AEGIR:-$root/aegir}" --set "voxel=$voxel" --frames "${FRAMES:-1001:1200}" \
  --kills "${KILLS:-6}" --seed "${SEED:-1}" --ranks "${RANKS:-1,2,3}"
