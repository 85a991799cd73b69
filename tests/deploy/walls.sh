# Runs a program as a container with a read-only root does: walls.sh DATA PYTHON COMMAND…
# Nothing is written but DATA and /tmp, by a user without rights. PYTHON is where its interpreter
# lies: it is put into an empty folder where that user may not enter the one that it is in.
set -eu
data=$1 python=$2
shift 2
mount --make-rprivate /
mount --bind "$data" "$data"
mount -t tmpfs -o mode=1777 tmpfs /tmp
if ! setpriv --reuid=10001 --regid=10001 --clear-groups test -r "$python"; then
    mkdir /tmp/python
    mount --bind "$python" /tmp/python
    mount -t tmpfs -o mode=0755 tmpfs "/$(echo "$python" | cut -d/ -f2)"
    mkdir -p "$python"
    mount --bind /tmp/python "$python"
    umount /tmp/python
    rmdir /tmp/python
fi
mounts=$(cat /proc/self/mountinfo)
while read -r _ _ _ _ place options _; do
    case $place in "$data" | /tmp | /proc | /proc/* | /sys | /sys/*) continue ;; esac
    test -e "$place" || continue # below the empty folder
    kept=remount,bind,ro
    for each in nosuid nodev noexec noatime nodiratime relatime; do
        case ",$options," in *",$each,"*) kept=$kept,$each ;; esac
    done
    mount -o "$kept" "$place"
done <<END
$mounts
END
cd "$data"
exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all "$@"
