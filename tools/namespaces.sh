#!/bin/bash
# Hosts on one machine: network namespaces that see each other over a bridge, each with a name and an address of its own, and a run over them.
#
#   sudo tools/namespaces.sh 2 build/release/apps/aegir/aegir run setups/dam_break.yaml -o /tmp/two_hosts --frames 0:2
#
# Ranks talk over TCP between the namespaces, one rank per host, and share the file system, as on a cluster. Needs root and the right to make
# namespaces; ends with 77 where that is not permitted, which tests take for "skipped". Everything is removed at the end.
set -u -o pipefail
hosts=${1:?how many hosts}
shift
[ $# -gt 0 ] || { echo "usage: namespaces.sh HOSTS PROGRAM ARGUMENTS..." >&2; exit 2; }
command -v ip >/dev/null && command -v mpirun >/dev/null || { echo "namespaces: ip or mpirun is not there" >&2; exit 77; }
name=aegir$$
work=$(mktemp -d)

remove() {
  for ((h = 0; h < hosts; ++h)); do ip netns del "$name-$h" 2>/dev/null; done
  ip link del "b$$" 2>/dev/null
  rm -rf "$work"
}
trap remove EXIT

make() {
  ip link add "b$$" type bridge && ip addr add 10.213.0.254/24 dev "b$$" && ip link set "b$$" up || return 1
  for ((h = 0; h < hosts; ++h)); do
    ip netns add "$name-$h" && ip link add "v$$-$h" type veth peer name eth0 netns "$name-$h" &&
      ip link set "v$$-$h" master "b$$" up && ip -n "$name-$h" addr add "10.213.0.$((h + 1))/24" dev eth0 &&
      ip -n "$name-$h" link set eth0 up && ip -n "$name-$h" link set lo up || return 1
    echo "10.213.0.$((h + 1)) slots=1" >>"$work/hosts"
  done
}
make 2>"$work/why" || { echo "namespaces: not permitted here: $(tail -n 1 "$work/why")" >&2; exit 77; }

# What mpirun starts its daemons with, instead of ssh: into the namespace of that address, with a host name of its own.
cat >"$work/enter" <<END
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
host=\$1; shift
number=\$((\${host##*.} - 1))
exec ip netns exec $name-\$number unshare --uts bash -c "hostname host\$number; \$*"
END
chmod +x "$work/enter"

mpirun --allow-run-as-root --bind-to none -n "$hosts" --hostfile "$work/hosts" --mca plm_rsh_agent "$work/enter" \
  --mca btl tcp,self --mca btl_tcp_if_include 10.213.0.0/24 --mca oob_tcp_if_include 10.213.0.0/24 "$@"
